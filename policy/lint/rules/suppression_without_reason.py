"""A comment silences a finding and does not say why.

Write the reason behind the bracket. Until then the finding stays.

Fails:

```yaml
rules:
  - id: llama
    match: {architectures: OurLlamaForCausalLM}  # runnerctl: ignore[RE301]
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
    "RH483", "suppression-without-reason", "error", "a comment silences a finding and does not say why"
)
