"""A variable of runnerctl's own stands in an `env:` block.

Variables that begin with `RUNNERCTL_` are between `launch` and the guard.

Fails:

```yaml
rules: []
env: {RUNNERCTL_COMPILED_POLICY: /tmp/policy.json}
```

Passes:

```yaml
rules: []
env: {VLLM_LOGGING_LEVEL: INFO}
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RM207", "reserved-name", "error", "a variable of runnerctl's own stands in an `env:` block")
