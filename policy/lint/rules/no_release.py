"""A release range holds no release.

Its ends contradict each other, or it lies between two releases. A rule with such a range never decides.

Fails:

```yaml
rules:
  - id: never
    match: {vllm: ">=0.25,<0.23"}
    runner: v1
  - id: between
    match: {vllm: "==0.23.7"}
    runner: v1
```

Passes:

```yaml
rules:
  - id: once
    match: {vllm: ">=0.23.dev0,<0.25.dev0"}
    runner: v1
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject

__all__ = ["RULE", "check"]

RULE = Rule("RE303", "no-release", "error", "a release range holds no release")


def check(subject: Subject) -> Iterator[Finding]:
    known = subject.knowledge
    for rule in subject.rules:
        for text, at in rule.ranges:
            specifier = known.specifier(text)
            if known.within(specifier) or known.later(specifier) or known.holds_candidate(specifier):
                continue
            if known.is_empty(specifier):
                message, help_ = f"no version is in `{text}`", "its ends contradict each other"
            else:
                message, help_ = f"no release is in `{text}`", known.around(specifier)
            yield RULE.finding(rule.file.span(*at), message, help_)
