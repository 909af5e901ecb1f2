"""A release range is not a PEP 440 specifier.

Fails:

```yaml
rules:
  - id: a
    match: {vllm: "0.22 - 0.25"}
    runner: v1
```

Passes:

```yaml
rules:
  - id: a
    match: {vllm: ">=0.22.dev0,<0.25.dev0"}
    runner: v1
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RM203", "invalid-specifier", "error", "a release range is not a PEP 440 specifier")
