"""A key stands twice in one mapping.

Most readers of YAML keep the last of two equal keys and say nothing, so that half of a match can vanish unseen.

Fails:

```yaml
rules:
  - id: a
    match:
      platform: cuda
      platform: rocm
    runner: v1
```

Passes:

```yaml
rules:
  - id: a
    match:
      platform: [cuda, rocm]
    runner: v1
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RD115", "duplicate-key", "error", "a key stands twice in one mapping")
