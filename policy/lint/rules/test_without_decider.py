"""A test does not say who decides.

A runner that comes out right for another reason passes such a test: the rule under test may never match. Name the rule,
or the layer (`engine`, `environment`) that is to decide. An expected error or status is enough.

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
  - given: {vllm: 0.23.0, architectures: [Qwen2ForCausalLM]}
    expect: {runner: v1, layer: engine}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject

__all__ = ["RULE", "check"]

RULE = Rule("RH410", "test-without-decider", "warning", "a test does not say who decides")


ENOUGH = {"rule", "policy", "layer", "error", "features", "missing_facts"}


def check(subject: Subject) -> Iterator[Finding]:
    for test in subject.tests:
        if (
            not ENOUGH & test.expect.keys()
            and test.expect.get("status", "ok") == "ok"
            and test.expect.get("runner", "") is not None
        ):
            message = "this test does not say who decides"
            yield RULE.finding(
                test.span("expect", key=True), message, "add `rule: ID` or `layer: engine` to it"
            )
