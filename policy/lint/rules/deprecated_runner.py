"""A rule requires V1 in releases that have deprecated it.

vLLM 0.29 deprecated V1 and will remove it. From that release on the rule cannot be served, and every deployment it
matches fails to start. End the range before, or say why the rule must go on.

Fails:

```yaml
rules:
  - id: offload-needs-v1
    match: {offload_config.uva.cpu_offload_gb: {gt: 0}, vllm: ">=0.25.dev0"}
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
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject

__all__ = ["RULE", "check"]

RULE = Rule("RH406", "deprecated-runner", "warning", "a rule requires V1 in releases that have deprecated it")


def check(subject: Subject) -> Iterator[Finding]:
    known = subject.knowledge
    for rule in subject.rules:
        late = subject.reach(rule) & known.v1_deprecated if rule.pins_v1 else 0
        if late:
            since = known.names[(known.v1_deprecated & -known.v1_deprecated).bit_length() - 1]
            message = f"rule `{rule.id}` requires v1 in {known.said(late)}, and vLLM {since} deprecated v1"
            help_ = f"end its range with `<{since.removesuffix('.0')}.dev0`, or say why it goes on"
            yield RULE.finding(rule.span("runner"), message, help_)
