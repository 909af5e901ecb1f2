"""An environment variable is not known to (a part of) the releases it is set for.

`VLLM_USE_V1` is the best known of these dead knobs: it chose the engine, not the model runner, and is gone. A variable
of a rule is looked up in the releases that the rule reaches, one of the whole policy in the newest release. Where a
release is too old to know it, that is a note.

Fails:

```yaml
rules:
  - id: llama
    match: {architectures: LlamaForCausalLM, vllm: ">=0.22.dev0,<0.25.dev0"}
    runner: v1
    env: {VLLM_USE_V1: "1"}
```

Passes:

```yaml
rules:
  - id: llama
    match: {architectures: LlamaForCausalLM, vllm: ">=0.22.dev0,<0.25.dev0"}
    runner: v1
    env: {VLLM_LOGGING_LEVEL: DEBUG}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.facts.fields import SWITCH
from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject
from policy.lint.variables import variables

__all__ = ["RULE", "check"]

RULE = Rule(
    "RE312",
    "dropped-variable",
    "warning",
    "an environment variable is not known to (a part of) the releases it is set for",
)


def check(subject: Subject) -> Iterator[Finding]:
    known = subject.knowledge
    for variable in variables(subject):
        knowing = known.variables.get(variable.name, 0) if variable.name.startswith("VLLM_") else 0
        missing = variable.reached & known.listed & ~knowing
        if not knowing or not missing or variable.name == SWITCH:
            continue
        said = known.said(missing)
        help_ = f"it is known to vLLM {known.said(knowing)}"
        gone = missing > knowing  # the newest release without it is newer than the newest with it
        if gone:
            yield RULE.finding(variable.key, f"vLLM {said} does not know `{variable.name}`", help_)
        elif variable.of_rule:
            message = f"vLLM {said}, which the rule reaches, does not know `{variable.name}`"
            yield RULE.finding(variable.key, message, help_, severity="note")
