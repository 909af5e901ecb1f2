"""The facts of a test contradict each other.

One key says that a config object is off or a plain value, and another gives a field of it.

Fails:

```yaml
rules: []
tests:
  - given: {vllm: 0.23.0, speculative_config: null, speculative_config.method: mtp}
    expect: {runner: v1, layer: engine}
```

Passes:

```yaml
rules: []
tests:
  - given: {vllm: 0.23.0, speculative_config.method: mtp}
    expect: {runner: v1, layer: engine}
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RM208", "contradiction", "error", "the facts of a test contradict each other")
