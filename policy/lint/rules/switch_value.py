"""A match asks for a value of the switch that vLLM refuses.

vLLM reads `VLLM_USE_V2_MODEL_RUNNER` as an integer. `true`, `false` and an empty text make it raise, and a deployment
that sets one never starts, unless a `require` replaces the value.

Fails:

```yaml
rules:
  - id: follow-the-operator
    match: {env.VLLM_USE_V2_MODEL_RUNNER: "true"}
    runner: v2
```

Passes:

```yaml
rules:
  - id: follow-the-operator
    match: {env.VLLM_USE_V2_MODEL_RUNNER: "1"}
    runner: v2
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.facts.fields import SWITCH
from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject

__all__ = ["RULE", "check"]

RULE = Rule("RE314", "switch-value", "warning", "a match asks for a value of the switch that vLLM refuses")


def check(subject: Subject) -> Iterator[Finding]:
    for rule in subject.rules:
        for condition in rule.conditions:
            if condition.path != f"env.{SWITCH}":
                continue
            for word, at in condition.words():
                if not _is_integer(word) and "*" not in word and "?" not in word:
                    message = f"vLLM reads {SWITCH} as an integer, and raises on `{word}`"
                    yield RULE.finding(rule.file.span(*at), message, 'write "0" or "1"')


def _is_integer(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True
