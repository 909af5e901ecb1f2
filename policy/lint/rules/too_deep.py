"""A document is nested deeper than 64 levels.

No policy is. Readers of YAML run out of stack on such files.

Fails:

```yaml
rules: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]
```

Passes:

```yaml
rules: []
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RD110", "too-deep", "error", "a document is nested deeper than 64 levels", unread=True)
