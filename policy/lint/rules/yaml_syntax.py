"""A file is not YAML.

Nothing in the file could be checked, so lint exits with 2.

Fails:

```yaml
rules:
  - id: a
    match: {architectures: [LlamaForCausalLM}
    runner: v1
```

Passes:

```yaml
rules:
  - id: a
    match: {architectures: [LlamaForCausalLM]}
    runner: v1
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RD105", "yaml-syntax", "error", "a file is not YAML", unread=True)
