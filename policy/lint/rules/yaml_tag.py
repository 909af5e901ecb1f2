"""YAML tags are not supported.

A tag such as `!!python/object` or `!secret` asks the reader to build something. A policy is plain data, so that it
means the same to every reader.

Fails:

```yaml
rules:
  - id: a
    match: {}
    runner: !runner v1
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

RULE = Rule("RD107", "yaml-tag", "error", "YAML tags are not supported", unread=True)
