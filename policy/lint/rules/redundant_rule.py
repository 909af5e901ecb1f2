"""A rule changes nothing: every release of its range decides so by itself.

It costs reading, and it hides what the release does. Where it still guards against an operator's switch, or settles
deployments of which too little is known to say whether another rule matches, that is a note.

Fails:

```yaml
rules:
  - id: pooling-on-v1
    match: {model_config.runner_type: pooling, vllm: ">=0.11,<0.20"}
    runner: v1
```

Passes:

```yaml
rules:
  - id: pooling-on-v1
    match: {model_config.runner_type: pooling, vllm: ">=0.28.dev0"}
    runner: v1
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject

__all__ = ["RULE", "check"]

RULE = Rule(
    "RE322",
    "redundant-rule",
    "warning",
    "a rule changes nothing: every release of its range decides so by itself",
)


def check(subject: Subject) -> Iterator[Finding]:
    for found in subject.analysis.redundant:
        rule = subject.by_id[found.rule.id]
        known = subject.knowledge
        where = known.said(known.named(found.releases))
        if found.guards_switch:
            message = f"rule `{rule.id}` only guards against the switch: vLLM {where} does the same by itself"
            yield RULE.finding(rule.span(), message, severity="note")
        elif found.beside:
            names = ", ".join(f"`{beside.id}`" for beside in found.beside[:3])
            message = f"rule `{rule.id}` changes nothing where all facts are known: vLLM {where} does the same by itself"
            help_ = f"where it is unknown whether {names} matches, `resolve` can only answer by this rule"
            yield RULE.finding(rule.span(), message, help_, severity="note")
        else:
            message = f"rule `{rule.id}` changes nothing: vLLM {where} does the same by itself"
            yield RULE.finding(rule.span(), message, "take it out, or say in a comment what it waits for")
