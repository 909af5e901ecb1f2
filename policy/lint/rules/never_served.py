"""A rule requires a runner that releases of its range can never serve.

Every deployment that it matches there fails to start. Where only some releases of its range can never serve it, that is a
warning.

Fails:

```yaml
rules:
  - id: suffix-on-v2
    match: {speculative_config.method: suffix, vllm: ">=0.22.dev0"}
    runner: v2
    enforce: require
```

Passes:

```yaml
rules:
  - id: suffix-on-v1
    match: {speculative_config.method: suffix, vllm: ">=0.22.dev0"}
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

RULE = Rule(
    "RE321",
    "never-served",
    "error",
    "a rule requires a runner that releases of its range can never serve",
)


def check(subject: Subject) -> Iterator[Finding]:
    for found in subject.analysis.unserved:
        rule = subject.by_id[found.rule.id]
        known = subject.knowledge
        said = known.said(known.named(found.releases))
        where = "no release of its range" if found.always else f"vLLM {said} never"
        serve = "can serve it" if found.always else "serves it"
        yield RULE.finding(
            rule.span("runner"),
            f"rule `{rule.id}` requires {found.rule.runner}, and {where} {serve}",
            " ".join(found.sentences),
            severity="error" if found.always else "warning",
        )
