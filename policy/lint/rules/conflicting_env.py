"""Two policies set one variable to different values.

The order of files never counts, so neither can win.

Fails:

```yaml
rules: []
env: {VLLM_LOGGING_LEVEL: INFO}
# --- another file ---
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {name: other, owner: team}
rules: []
env: {VLLM_LOGGING_LEVEL: DEBUG}
```

Passes:

```yaml
rules: []
env: {VLLM_LOGGING_LEVEL: INFO}
# --- another file ---
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {name: other, owner: team}
rules: []
env: {VLLM_LOGGING_LEVEL: INFO}
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RM205", "conflicting-env", "error", "two policies set one variable to different values")
