"""Nobody answers for a rule.

`metadata.owner` answers for the whole file, `owner` of a rule for that one.

Fails:

```yaml
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {name: example}
rules:
  - id: llama
    match: {architectures: LlamaForCausalLM}
    runner: v1
```

Passes:

```yaml
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {name: example, owner: inference-platform}
rules:
  - id: llama
    match: {architectures: LlamaForCausalLM}
    runner: v1
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject

__all__ = ["RULE", "check"]

RULE = Rule("RH405", "missing-owner", "warning", "nobody answers for a rule")


def check(subject: Subject) -> Iterator[Finding]:
    for file in subject.files:
        alone = [rule for rule in file.rules if "owner" not in rule.data]
        if alone and "owner" not in file.metadata:
            more = f" and {len(alone) - 1} more" if len(alone) > 1 else ""
            message = f"nobody answers for rule `{alone[0].id}`{more}"
            yield RULE.finding(file.span("metadata", key=True), message, "write `owner: TEAM` in `metadata`")
