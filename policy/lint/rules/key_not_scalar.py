"""A key is a mapping or a list.

YAML allows it; nothing here has a meaning for it.

Fails:

```yaml
rules:
  - id: a
    match: {[platform, model]: cuda}
    runner: v1
```

Passes:

```yaml
rules:
  - id: a
    match: {platform: cuda}
    runner: v1
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RD112", "key-not-scalar", "error", "a key is a mapping or a list", unread=True)
