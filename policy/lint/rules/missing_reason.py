"""A rule gives no reason.

The reason is what whoever is paged reads first, in every decision, log line and attestation. Without it nobody dares to
remove the rule.

Fails:

```yaml
rules:
  - id: llama
    match: {architectures: LlamaForCausalLM}
    runner: v1
```

Passes:

```yaml
rules:
  - id: llama
    match: {architectures: LlamaForCausalLM}
    runner: v1
    reason: Our sampler plugin hooks V1 only.
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject

__all__ = ["RULE", "check"]

RULE = Rule("RH403", "missing-reason", "warning", "a rule gives no reason")


def check(subject: Subject) -> Iterator[Finding]:
    for rule in subject.rules:
        if not str(rule.data.get("reason", "")).strip():
            yield RULE.finding(rule.span(), f"rule `{rule.id}` gives no reason", "write `reason: ...`")
