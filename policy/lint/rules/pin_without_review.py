"""A `require` for V1 has no day of review.

Pins outlive their reason: the connector is ported, the release is gone, and the rule still refuses. `expires` names
the day to look again; the rule goes on deciding, with a warning.

Fails:

```yaml
rules:
  - id: offload-needs-v1
    match: {offload_config.uva.cpu_offload_gb: {gt: 0}, vllm: ">=0.25.dev0,<0.28.dev0"}
    runner: v1
    enforce: require
```

Passes:

```yaml
rules:
  - id: offload-needs-v1
    match: {offload_config.uva.cpu_offload_gb: {gt: 0}, vllm: ">=0.25.dev0,<0.28.dev0"}
    runner: v1
    enforce: require
    expires: 2027-03-31
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject

__all__ = ["RULE", "check"]

RULE = Rule(
    "RH414", "pin-without-review", "warning", "a `require` for V1 has no day of review", stage="preview"
)


def check(subject: Subject) -> Iterator[Finding]:
    for rule in subject.rules:
        if rule.pins_v1 and "expires" not in rule.data:
            message = f"rule `{rule.id}` pins v1 without a day of review"
            yield RULE.finding(rule.span(), message, "write `expires: YYYY-MM-DD`")
