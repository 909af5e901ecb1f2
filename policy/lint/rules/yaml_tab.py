"""YAML is indented with a tab.

YAML forbids tabs there, and its own message about it is hard to read.

Fails:

```yaml
rules:
  - id: a
\tmatch: {}
    runner: v1
```

Passes:

```yaml
rules:
  - id: a
    match: {}
    runner: v1
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RD106", "yaml-tab", "error", "YAML is indented with a tab", unread=True)
