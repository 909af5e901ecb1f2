"""A document is of a format that this version does not read.

What is read is `apiVersion: runnerctl/v1`.

Fails:

```yaml
apiVersion: runnerctl/v2
kind: RunnerPolicy
metadata: {name: example}
rules: []
```

Passes:

```yaml
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {name: example}
rules: []
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule(
    "RD127", "unknown-api-version", "error", "a document is of a format that this version does not read"
)
