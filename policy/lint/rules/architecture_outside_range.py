"""An architecture is not registered in (a part of) the rule's releases.

vLLM adds and drops architectures. Where no release of the rule's range registers one, the value matches nothing. Where
some do not, that is a note: the rule decides in the others.

Fails:

```yaml
rules:
  - id: gemma4
    match: {architectures: Gemma4ForConditionalGeneration, vllm: ">=0.11,<0.13"}
    runner: v2
```

Passes:

```yaml
rules:
  - id: gemma4
    match: {architectures: Gemma4ForConditionalGeneration, vllm: ">=0.25.dev0,<0.26.dev0"}
    runner: v2
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject

__all__ = ["RULE", "check"]

RULE = Rule(
    "RE302",
    "architecture-outside-range",
    "warning",
    "an architecture is not registered in (a part of) the rule's releases",
)


def check(subject: Subject) -> Iterator[Finding]:
    known = subject.knowledge
    for rule in subject.rules:
        for word, at in rule.architectures:
            registering = known.registering(word)
            reached = subject.reach(rule) & known.listed
            missing = reached & ~registering
            if not registering or not missing:
                continue
            help_ = f"it is registered in {known.said(registering)}"
            if missing == reached:
                message = f"no release of this rule registers `{word}`"
                yield RULE.finding(rule.file.span(*at), message, help_)
            elif not known.is_pattern(word):
                message = f"`{word}` is not registered in {known.said(missing)}, which the rule reaches"
                yield RULE.finding(rule.file.span(*at), message, help_, severity="note")
