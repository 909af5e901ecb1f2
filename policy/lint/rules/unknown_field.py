"""A field does not exist.

Nobody would read it: a mistyped `enfore: require` would leave the rule a preference.

Fails:

```yaml
rules:
  - id: a
    match: {}
    runner: v1
    enfore: require
```

Passes:

```yaml
rules:
  - id: a
    match: {}
    runner: v1
    enforce: require
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RD121", "unknown-field", "error", "a field does not exist")
