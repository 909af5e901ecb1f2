"""A part of the exact analysis was not done, because it would take too long.

What is said of the other rules is exact all the same. Whether these rules can decide, or can disagree, is open. It takes
thousands of rules, or matches of many globs and lists that overlap.

Split the policy into sets that are used apart, or write what keeps two rules apart as plain values.

Passes:

```yaml
rules:
  - id: llama
    match: {architectures: "Llama*"}
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
    "RM214",
    "analysis-cut",
    "note",
    "a part of the exact analysis was not done, because it would take too long",
)


def check(subject: Subject) -> Iterator[Finding]:
    for cut in subject.analysis.cut:
        known = [subject.by_id[name] for name in cut.rules if name in subject.by_id]
        rules = " and ".join(f"`{rule.id}`" for rule in known)
        span = known[0].span() if known else subject.files[0].span("rules", key=True)
        about = f" of {rules}" if rules else ""
        yield RULE.finding(span, f"the analysis{about} was cut ({cut.what}): {cut.why}")
