"""A match or a test names a fact that does not exist.

Facts have vLLM's own names: the attribute of its config, then the field. The help names the nearest right ones;
`runnerctl schema facts` prints all of them.

Fails:

```yaml
rules:
  - id: a
    match: {tensor_parallel_size: {gt: 1}}
    runner: v1
```

Passes:

```yaml
rules:
  - id: a
    match: {parallel_config.tensor_parallel_size: {gt: 1}}
    runner: v1
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RM201", "unknown-fact", "error", "a match or a test names a fact that does not exist")
