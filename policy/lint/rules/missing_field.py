"""A field that is needed is missing.

A policy needs `apiVersion`, `kind`, `metadata.name` and `rules`; a rule `id`, `match` and `runner`; a test `given` and
`expect`.

Fails:

```yaml
rules:
  - id: a
    match: {}
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

RULE = Rule("RD122", "missing-field", "error", "a field that is needed is missing")
