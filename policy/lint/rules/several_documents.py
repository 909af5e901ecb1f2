"""A file holds several YAML documents.

Readers that take only the first would leave rules out unseen. One document a file; a folder holds as many as you like.

Fails:

```yaml
rules: []
---
rules: []
```

Passes:

```yaml
rules: []
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RD113", "several-documents", "error", "a file holds several YAML documents", unread=True)
