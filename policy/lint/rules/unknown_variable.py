"""No release of vLLM knows an environment variable of this name.

vLLM only logs "Unknown vLLM environment variable" and goes on, so a mistyped variable is a setting that does nothing.
Only names that begin with `VLLM_` are looked up. A variable of a plugin is not known here: say so with a comment,
`# runnerctl: ignore[RE311] our plugin reads it`.

Fails:

```yaml
rules: []
env: {VLLM_LOGING_LEVEL: INFO}
```

Passes:

```yaml
rules: []
env: {VLLM_LOGGING_LEVEL: INFO}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.document.diagnostic import nearest
from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject
from policy.lint.variables import variables

__all__ = ["RULE", "check"]

RULE = Rule(
    "RE311", "unknown-variable", "warning", "no release of vLLM knows an environment variable of this name"
)


def check(subject: Subject) -> Iterator[Finding]:
    known = subject.knowledge
    for variable in variables(subject):
        if variable.name.startswith("VLLM_") and known.listed and variable.name not in known.variables:
            help_ = nearest(variable.name, known.variables) or "vLLM would log it as unknown, and go on"
            yield RULE.finding(variable.key, f"no release of vLLM knows `{variable.name}`", help_)
