"""A YAML alias has no anchor.

`*name` stands for what `&name` marked before it in the same file.

Fails:

```yaml
rules:
  - id: a
    match: *llama
    runner: v1
```

Passes:

```yaml
rules:
  - id: a
    match: &llama {architectures: LlamaForCausalLM}
    runner: v1
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RD109", "unknown-alias", "error", "a YAML alias has no anchor", unread=True)
