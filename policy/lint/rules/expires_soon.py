"""A rule is due for review within 30 days.

Fails:

```yaml
rules:
  - id: connector-needs-v1
    match: {kv_transfer_config.kv_connector: "LMCache*"}
    runner: v1
    expires: 2026-12-20
```

Passes:

```yaml
rules:
  - id: connector-needs-v1
    match: {kv_transfer_config.kv_connector: "LMCache*"}
    runner: v1
    expires: 2027-12-31
```
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject

__all__ = ["RULE", "check"]

RULE = Rule("RH402", "expires-soon", "note", "a rule is due for review within 30 days")


NEAR_DAYS = 30


def check(subject: Subject) -> Iterator[Finding]:
    for rule in subject.rules:
        day = rule.data.get("expires")
        left = (date.fromisoformat(day) - subject.today).days if day is not None else 0
        if 0 < left <= NEAR_DAYS:
            days = "1 day" if left == 1 else f"{left} days"
            yield RULE.finding(
                rule.span("expires"), f"rule `{rule.id}` is due for review in {days}, on {day}"
            )
