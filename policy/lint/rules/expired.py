"""A rule is past the day on which it was to be looked at again.

It goes on deciding: a pin that silently stops at midnight would be worse. Renew the day if the reason still holds, or
remove the rule.

Fails:

```yaml
rules:
  - id: connector-needs-v1
    match: {kv_transfer_config.kv_connector: "LMCache*"}
    runner: v1
    expires: 2026-06-30
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

RULE = Rule("RH401", "expired", "warning", "a rule is past the day on which it was to be looked at again")


def check(subject: Subject) -> Iterator[Finding]:
    for rule in subject.rules:
        day = rule.data.get("expires")
        if day is not None and date.fromisoformat(day) <= subject.today:
            message = f"rule `{rule.id}` expired on {day} and still decides"
            yield RULE.finding(rule.span("expires"), message, "renew the day, or remove the rule")
