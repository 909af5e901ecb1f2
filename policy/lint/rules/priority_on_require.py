"""A `require` has a priority, which means nothing there.

Priorities settle which of several `prefer` rules decides. Two `require` rules for different runners are always an
error that names both.

Fails:

```yaml
rules:
  - id: llama
    match: {architectures: LlamaForCausalLM}
    runner: v1
    enforce: require
    priority: 10
```

Passes:

```yaml
rules:
  - id: llama
    match: {architectures: LlamaForCausalLM}
    runner: v1
    enforce: require
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.lint.finding import Edit, Finding, Fix, Span
from policy.lint.registry import Rule
from policy.lint.subject import Subject
from policy.lint.text import RuleText

__all__ = ["RULE", "check"]

RULE = Rule(
    "RH412", "priority-on-require", "warning", "a `require` has a priority, which means nothing there"
)


def check(subject: Subject) -> Iterator[Finding]:
    for rule in subject.rules:
        if rule.requires and rule.data.get("priority"):
            message = f"the priority of rule `{rule.id}` means nothing: it is a `require`"
            yield RULE.finding(rule.span("priority", key=True), message, "remove it", fix=_removed(rule))


def _removed(rule: RuleText) -> Fix | None:
    """Takes the line out, where the field stands alone on one."""
    span = rule.span("priority", key=True)
    line = rule.file.lines[span.line - 1]
    if line.strip() != f"priority: {rule.data['priority']}":
        return None
    whole = Span(span.path, span.line, 1, len(line) + 2)  # with its line end
    return Fix("remove the priority", (Edit(whole, ""),))
