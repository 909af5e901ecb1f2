"""No test says that a rule decides.

A test counts where its `expect` names the rule. `runnerctl test --coverage` runs the tests and says which rules
really decide.

Fails:

```yaml
rules:
  - id: llama
    match: {architectures: LlamaForCausalLM}
    runner: v1
tests:
  - given: {vllm: 0.23.0, architectures: [LlamaForCausalLM]}
    expect: {runner: v1}
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

from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject

__all__ = ["RULE", "check"]

RULE = Rule("RH407", "rule-without-test", "warning", "no test says that a rule decides")


def check(subject: Subject) -> Iterator[Finding]:
    for rule in subject.rules if subject.complete else ():
        if rule.id not in subject.expected:
            message = f"no test expects rule `{rule.id}` to decide"
            yield RULE.finding(rule.span(), message, f"write a test with `expect: {{rule: {rule.id}}}`")
