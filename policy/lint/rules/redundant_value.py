"""A value of a list is covered by another one of it.

It stands there twice, or a pattern beside it matches it: one of the two was meant to be something else.

Fails:

```yaml
rules:
  - id: llama
    match: {architectures: ["Llama*", LlamaForCausalLM]}
    runner: v1
```

Passes:

```yaml
rules:
  - id: llama
    match: {architectures: ["Llama*", MistralForCausalLM]}
    runner: v1
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policy.lint.finding import Finding, Related
from policy.lint.registry import Rule
from policy.lint.subject import Subject
from policy.rules.match import Equal, Glob, is_glob
from policy.secret import shown

__all__ = ["RULE", "check"]

RULE = Rule("RH413", "redundant-value", "warning", "a value of a list is covered by another one of it")


def check(subject: Subject) -> Iterator[Finding]:
    for rule in subject.rules:
        for condition in rule.conditions:
            values = condition.value
            if not isinstance(values, list) or len(values) < 2 or condition.path == "vllm":
                continue
            for i, value in enumerate(values):
                other = next((j for j, v in enumerate(values) if j != i and _covers(v, value, j < i)), None)
                if other is not None:
                    name = condition.path.removeprefix("env.")
                    message = f"`{shown(name, str(value))}` is covered by `{shown(name, str(values[other]))}`"
                    related = Related(rule.file.span(*condition.at, other), "which stands here")
                    yield RULE.finding(rule.file.span(*condition.at, i), message, related=[related])


def _covers(value: Any, other: Any, first: bool) -> bool:
    if is_glob(value) and isinstance(other, str):
        return Glob(value).holds(other) and (first or value != other)
    return first and Equal(value).holds(other)
