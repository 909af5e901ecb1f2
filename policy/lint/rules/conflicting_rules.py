"""Two rules of equal weight can disagree over one deployment.

Such a deployment gets an error instead of a runner. The finding shows one, the witness: `runnerctl resolve --facts` says
the same of it. Make the matches exclude each other, or give one `prefer` rule a higher `priority`. Where only a model that
registers two architectures would meet both, it is a warning.

Fails:

```yaml
rules:
  - id: llama
    match: {architectures: "Llama*"}
    runner: v2
  - id: rocm
    match: {platform: rocm}
    runner: v1
```

Passes:

```yaml
rules:
  - id: llama
    match: {architectures: "Llama*"}
    runner: v2
  - id: rocm
    match: {platform: rocm}
    runner: v1
    priority: 10
```
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from policy.lint.finding import Finding, Related
from policy.lint.registry import Rule
from policy.lint.subject import Subject
from policy.secret import shown_facts

__all__ = ["RULE", "check"]

RULE = Rule(
    "RM212", "conflicting-rules", "error", "two rules of equal weight can disagree over one deployment"
)


def check(subject: Subject) -> Iterator[Finding]:
    for conflict in subject.analysis.conflicts:
        sides = (conflict.first, conflict.second)
        first, second = sorted((subject.by_id[side.id] for side in sides), key=lambda rule: rule.span())
        if conflict.variable is None:
            runners = f"{first.data['runner']} and {second.data['runner']}"
            what = f"want {runners} for one deployment"
        else:
            what = f"set `{conflict.variable}` differently for one deployment"
        assume = f" --assume {conflict.witness.assume}" if conflict.witness.assume else ""
        shown = json.dumps(shown_facts(conflict.witness.document), ensure_ascii=False)
        several = (
            f"only where {' and '.join(conflict.several)} hold several values; " if conflict.several else ""
        )
        yield RULE.finding(
            second.span(),
            f"rules `{first.id}` and `{second.id}` {what}",
            f"{several}for example{assume} {shown}",
            related=[Related(first.span(), f"rule `{first.id}`")],
            severity="warning" if conflict.several else "error",
        )
