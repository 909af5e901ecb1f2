"""A value is empty where something is needed.

An empty list of alternatives matches nothing, and an empty reason says nothing.

Fails:

```yaml
rules:
  - id: a
    match: {architectures: []}
    runner: v1
    reason: ""
```

Passes:

```yaml
rules:
  - id: a
    match: {architectures: [LlamaForCausalLM]}
    runner: v1
    reason: Its plugin hooks V1 only.
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RD126", "empty-value", "error", "a value is empty where something is needed")
