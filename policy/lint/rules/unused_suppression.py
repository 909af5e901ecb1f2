"""A comment silences nothing.

What it was written for is gone. Left behind, it would silence the next mistake on that line.

Fails:

```yaml
rules:
  - id: llama
    match: {architectures: LlamaForCausalLM}  # runnerctl: ignore[RE301] our plugin registers it
    runner: v1
```

Passes:

```yaml
rules:
  - id: llama
    match: {architectures: OurLlamaForCausalLM}  # runnerctl: ignore[RE301] our plugin registers it
    runner: v1
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RH481", "unused-suppression", "warning", "a comment silences nothing")
