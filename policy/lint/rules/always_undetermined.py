"""A rule asks for a fact that no release of its range has.

Nobody can read it from an engine there. Where vLLM assumes nothing of it, the match is unknown for every deployment, and
decisions that hang on it come out as `undetermined`. Where vLLM has a default (a config object that is off, a number), the
match holds for no deployment: the rule asks for another value than that.

Fails:

```yaml
rules:
  - id: many-sequences
    match: {scheduler_config.max_num_active_seqs: {ge: 512}, vllm: "<0.25.dev0"}
    runner: v2
```

Passes:

```yaml
rules:
  - id: many-sequences
    match: {scheduler_config.max_num_active_seqs: {ge: 512}, vllm: ">=0.32.dev0"}
    runner: v2
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject

__all__ = ["RULE", "check"]

RULE = Rule(
    "RM213", "always-undetermined", "warning", "a rule asks for a fact that no release of its range has"
)


def check(subject: Subject) -> Iterator[Finding]:
    for found in subject.analysis.always_undetermined:
        rule = subject.by_id[found.rule.id]
        paths = " and ".join(f"`{path}`" for path in found.paths)
        help_ = f"vLLM {' and '.join(found.fields)} has it" if found.fields else ""
        yield RULE.finding(
            rule.span(), f"rule `{rule.id}` asks for {paths}, which no release of its range has", help_
        )
