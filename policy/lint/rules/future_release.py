"""A release range begins after the last release that is known here.

Nothing of the rule can be checked: which architectures and variables there will be, what each runner will serve.

Fails:

```yaml
rules:
  - id: later
    match: {vllm: ">=0.40"}
    runner: v2
```

Passes:

```yaml
rules:
  - id: now
    match: {vllm: ">=0.33.dev0"}
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
    "RE304", "future-release", "note", "a release range begins after the last release that is known here"
)


def check(subject: Subject) -> Iterator[Finding]:
    known = subject.knowledge
    for rule in subject.rules:
        for text, at in rule.ranges:
            specifier = known.specifier(text)
            if not known.within(specifier) and known.later(specifier):
                message = f"`{text}` is newer than the catalog, which ends with {known.names[-1]}"
                yield RULE.finding(rule.file.span(*at), message, "nothing of this rule could be checked")
