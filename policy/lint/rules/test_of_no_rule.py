"""A test expects a rule that does not exist.

It can only fail.

Fails:

```yaml
rules:
  - id: llama
    match: {architectures: LlamaForCausalLM}
    runner: v1
tests:
  - given: {vllm: 0.23.0, architectures: [LlamaForCausalLM]}
    expect: {runner: v1, rule: lama}
```

Passes:

```yaml
rules:
  - id: llama
    match: {architectures: LlamaForCausalLM}
    runner: v1
tests:
  - given: {vllm: 0.23.0, architectures: [LlamaForCausalLM]}
    expect: {runner: v1, rule: llama}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.document.diagnostic import nearest
from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject

__all__ = ["RULE", "check"]

RULE = Rule("RH408", "test-of-no-rule", "error", "a test expects a rule that does not exist")


def check(subject: Subject) -> Iterator[Finding]:
    for test in subject.tests if subject.complete else ():
        name = test.expect.get("rule")
        if (
            name is None
            or not subject.knows(test.file.about)
            or name in subject.written
            or test.expect.get("layer") == "environment"
        ):
            continue
        if test.expect.get("layer") != "policy" and name in subject.knowledge.own_rules:
            continue  # a rule of the release itself
        help_ = nearest(name, subject.written) or "the rules of this policy set have other ids"
        yield RULE.finding(test.span("expect", "rule"), f"there is no rule `{name}`", help_)
