"""A value is not one of those that are possible here.

The help names the nearest right one, or all of them.

Fails:

```yaml
rules:
  - id: a
    match: {platform: gpu}
    runner: v3
```

Passes:

```yaml
rules:
  - id: a
    match: {platform: cuda}
    runner: v2
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RD124", "wrong-value", "error", "a value is not one of those that are possible here")
