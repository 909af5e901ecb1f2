"""Two rules have one id.

Tests, decisions and attestations name a rule by its id, so it is unique over all files that are used together.

Fails:

```yaml
rules:
  - id: llama
    match: {architectures: LlamaForCausalLM}
    runner: v1
  - id: llama
    match: {architectures: Llama4ForCausalLM}
    runner: v2
```

Passes:

```yaml
rules:
  - id: llama
    match: {architectures: LlamaForCausalLM}
    runner: v1
  - id: llama4
    match: {architectures: Llama4ForCausalLM}
    runner: v2
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RM204", "duplicate-id", "error", "two rules have one id")
