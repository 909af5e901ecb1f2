"""A value is of another type than the one that is wanted.

Releases and environment variables are strings: a plain `0.10` is the number 0.1, and would be release 0.1. `--fix`
quotes what must be quoted.

Fails:

```yaml
rules:
  - id: a
    match: {vllm: 0.10}
    runner: v1
```

Passes:

```yaml
rules:
  - id: a
    match: {vllm: "0.10"}
    runner: v1
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RD123", "wrong-type", "error", "a value is of another type than the one that is wanted")
