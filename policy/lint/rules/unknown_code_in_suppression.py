"""A comment names a rule of lint that does not exist, or none.

It silences nothing, and nobody would see why.

Fails:

```yaml
rules:
  - id: llama
    match: {architectures: OurLlamaForCausalLM}  # runnerctl: ignore[RE999] our plugin registers it
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

RULE = Rule(
    "RH482",
    "unknown-code-in-suppression",
    "error",
    "a comment names a rule of lint that does not exist, or none",
)
