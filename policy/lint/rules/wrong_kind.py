"""A document is not a policy.

A compiled policy is made for the guard by `runnerctl compile`. Policies are what it is made from.

Fails:

```yaml
apiVersion: runnerctl/v1
kind: CompiledPolicy
vllm: 0.23.0
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

RULE = Rule("RD128", "wrong-kind", "error", "a document is not a policy")
