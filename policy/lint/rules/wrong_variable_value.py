"""vLLM cannot use the value of an environment variable.

Most are read as an integer or as one of a few words, some only where they are first used: the engine starts, and fails
later. What each release wants is read from its own declarations.

Fails:

```yaml
rules: []
env: {VLLM_HTTP_TIMEOUT_KEEP_ALIVE: "5s"}
```

Passes:

```yaml
rules: []
env: {VLLM_HTTP_TIMEOUT_KEEP_ALIVE: "5"}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject
from policy.lint.variables import unusable, variables
from policy.secret import shown

__all__ = ["RULE", "check"]

RULE = Rule(
    "RE313", "wrong-variable-value", "warning", "vLLM cannot use the value of an environment variable"
)


def check(subject: Subject) -> Iterator[Finding]:
    known = subject.knowledge
    for variable in variables(subject):
        if variable.value is None or not variable.name.startswith("VLLM_"):
            continue
        kinds = known.kinds(variable.name, variable.reached)
        wanted = [unusable(variable.value, kind) for kind in sorted(kinds)]
        if wanted and all(wanted):
            message = f"`{variable.name}` takes {' or '.join(sorted({w for w in wanted if w}))}, not `{shown(variable.name, variable.value)}`"
            yield RULE.finding(variable.span, message)
