"""YAML merge keys (`<<`) are not supported.

YAML 1.2 has no merge keys, and readers differ in which value wins. Aliases (`*name`) of whole values are fine.

Fails:

```yaml
rules:
  - &llama
    id: llama
    match: {architectures: LlamaForCausalLM}
    runner: v1
  - <<: *llama
    id: llama-on-rocm
```

Passes:

```yaml
rules:
  - id: llama
    match: &llama {architectures: LlamaForCausalLM, platform: cuda}
    runner: v1
  - id: llama-in-search
    match: {all: [*llama, {labels.team: search}]}
    runner: v2
```
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RD108", "merge-key", "error", "YAML merge keys (`<<`) are not supported", unread=True)
