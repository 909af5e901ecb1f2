"""A name cannot stand here.

Names of environment variables are letters, digits and `_`.

Fails:

```yaml
rules: []
env:
  VLLM-LOGGING-LEVEL: INFO
```

Passes:

```yaml
rules: []
env:
  VLLM_LOGGING_LEVEL: INFO
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RD125", "wrong-name", "error", "a name cannot stand here")
