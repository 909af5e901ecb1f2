"""A file is empty, or holds comments only.

Such a file looks like a policy in a listing and decides nothing.

Fails:

```yaml
# To be written.
```

Passes:

```yaml
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {name: to-be-written, owner: team}
rules: []
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RD114", "empty-file", "error", "a file is empty, or holds comments only", unread=True)
