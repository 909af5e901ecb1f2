"""An operator does not go with its fact.

`gt`, `ge`, `lt` and `le` compare numbers; releases and packages are matched with PEP 440 specifiers.

Fails:

```yaml
rules:
  - id: a
    match: {platform: {gt: 1}, vllm: {ge: 1}}
    runner: v1
```

Passes:

```yaml
rules:
  - id: a
    match: {platform: {ne: rocm}, vllm: ">=1"}
    runner: v1
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RM202", "wrong-operator", "error", "an operator does not go with its fact")
