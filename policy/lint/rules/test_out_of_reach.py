"""A test expects a rule whose match does not hold for its facts.

The rule cannot decide there, whatever the other rules do. The test can only fail.

Fails:

```yaml
rules:
  - id: llama
    match: {architectures: LlamaForCausalLM, vllm: "<0.25.dev0"}
    runner: v1
tests:
  - given: {vllm: 0.25.0, architectures: [LlamaForCausalLM]}
    expect: {runner: v1, rule: llama}
```

Passes:

```yaml
rules:
  - id: llama
    match: {architectures: LlamaForCausalLM, vllm: "<0.25.dev0"}
    runner: v1
tests:
  - given: {vllm: 0.24.0, architectures: [LlamaForCausalLM]}
    expect: {runner: v1, rule: llama}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policy.decision.explain import without_secrets
from policy.facts.facts import Facts
from policy.facts.fields import SHORT_NAMES
from policy.lint.finding import Finding, Related
from policy.lint.registry import Rule
from policy.lint.subject import Subject
from policy.rules.match import All, Leaf, Match, failing_term

__all__ = ["RULE", "check"]

RULE = Rule(
    "RH409", "test-out-of-reach", "error", "a test expects a rule whose match does not hold for its facts"
)

_SHORT = {path: name for name, path in SHORT_NAMES.items()}


def check(subject: Subject) -> Iterator[Finding]:
    for test in subject.tests:
        rule = subject.by_id.get(test.expect.get("rule", ""))
        if rule is None or rule.rule is None or test.expect.get("layer", "policy") != "policy":
            continue
        if _plainly_holds(rule.rule.match, test.given):
            continue
        facts = Facts(test.facts)
        if rule.rule.match.value(facts) is False:
            term = failing_term(rule.rule.match, facts)
            said = "" if term is None else without_secrets(term)
            message = f"rule `{rule.id}` cannot decide here: `{said}` does not hold"
            related = Related(rule.span(), f"rule `{rule.id}`")
            yield RULE.finding(test.span("expect", "rule"), message, related=[related])


def _plainly_holds(match: Match, given: Mapping[str, Any]) -> bool:
    """Whether each condition holds by what the test gives under its very name: true of most tests."""
    for term in match.terms if isinstance(match, All) else (match,):
        if not isinstance(term, Leaf):
            return False
        value = given.get(term.path)
        if value is None:
            value = given.get(_SHORT.get(term.path, ""))
        if value is None or not term.holds(value):
            return False
    return True
