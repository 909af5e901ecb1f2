"""The switch stands in an `env:` block.

`VLLM_USE_V2_MODEL_RUNNER` is what a decision sets, last and over every other layer. What an `env:` block said would be
overridden, whatever it is.

Fails:

```yaml
rules: []
env: {VLLM_USE_V2_MODEL_RUNNER: "0"}
```

Passes:

```yaml
rules:
  - id: everything-on-v1
    match: {}
    runner: v1
    enforce: require
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RM206", "switch-in-env", "error", "the switch stands in an `env:` block")
