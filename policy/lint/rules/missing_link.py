"""A `require` has no link.

A `require` refuses to start deployments. Whoever it stops needs the issue, the measurement or the ticket behind it, and
whoever renews it must see whether that is still open.

Fails:

```yaml
rules:
  - id: offload-needs-v1
    match: {offload_config.uva.cpu_offload_gb: {gt: 0}}
    runner: v1
    enforce: require
```

Passes:

```yaml
rules:
  - id: offload-needs-v1
    match: {offload_config.uva.cpu_offload_gb: {gt: 0}}
    runner: v1
    enforce: require
    links: [https://github.com/vllm-project/vllm/issues/51396]
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject

__all__ = ["RULE", "check"]

RULE = Rule("RH404", "missing-link", "warning", "a `require` has no link")


def check(subject: Subject) -> Iterator[Finding]:
    for rule in subject.rules:
        if rule.requires and not rule.data.get("links"):
            message = f"rule `{rule.id}` requires {rule.data['runner']} and links to nothing"
            yield RULE.finding(rule.span(), message, "write `links: [https://...]`")
