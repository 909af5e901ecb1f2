"""The ranges of two neighbouring rules leave out the candidates and nightlies between them.

By PEP 440 `<0.12` leaves `0.12.0rc1` and `0.12.0.dev3` out, and `>=0.12` too, as they come before 0.12. A fleet on
nightlies falls through the hole between two such rules. `--fix` moves both ends to `.dev0`, which takes the
candidates and nightlies into the later range.

Rules are neighbours where nothing else keeps them apart: not another platform, architecture or label.

Fails:

```yaml
rules:
  - id: before
    match: {architectures: LlamaForCausalLM, vllm: ">=0.22.dev0,<0.25"}
    runner: v1
  - id: after
    match: {architectures: LlamaForCausalLM, vllm: ">=0.25"}
    runner: v2
```

Passes:

```yaml
rules:
  - id: before
    match: {architectures: LlamaForCausalLM, vllm: ">=0.22.dev0,<0.25.dev0"}
    runner: v1
  - id: after
    match: {architectures: LlamaForCausalLM, vllm: ">=0.25.dev0"}
    runner: v2
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.lint.bounds import Bound, bounds, moved_to_dev
from policy.lint.finding import Finding, Fix, Related
from policy.lint.registry import Rule
from policy.lint.subject import Subject

__all__ = ["RULE", "check"]

RULE = Rule(
    "RE305",
    "release-gap",
    "warning",
    "the ranges of two neighbouring rules leave out the candidates and nightlies between them",
)


def check(subject: Subject) -> Iterator[Finding]:
    ends: dict[object, list[Bound]] = {}
    starts: list[Bound] = []
    for rule in subject.rules:
        for bound in bounds(rule):
            if bound.operator == "<":
                ends.setdefault(bound.version, []).append(bound)
            else:
                starts.append(bound)
    for start in starts:
        before = next((end for end in ends.get(start.version, ()) if _neighbours(end, start)), None)
        if before is not None:
            yield _gap(before, start)


def _gap(before: Bound, start: Bound) -> Finding:
    message = f"`<{before.text}` of rule `{before.rule.id}` and `>={start.text}` here both leave out {start.text}rc1 and nightlies"
    edits = tuple(moved_to_dev(bound) for bound in (before, start))
    fix = Fix(f"move both ends to {start.text}.dev0", edits)
    related = Related(before.span, f"rule `{before.rule.id}` ends here")
    return RULE.finding(
        start.span,
        message,
        f"write `<{start.text}.dev0` there and `>={start.text}.dev0` here",
        related=[related],
        fix=fix,
    )


def _neighbours(before: Bound, start: Bound) -> bool:
    """Whether one deployment could meet both rules but for its release."""
    others = {c.path: _values(c.value) for c in before.rule.conditions if c.top and c.path != "vllm"}
    for condition in start.rule.conditions:
        mine, theirs = _values(condition.value), others.get(condition.path)
        if condition.top and mine and theirs and not mine & theirs:
            return False
    return before.rule is not start.rule


def _values(value: object) -> frozenset[object]:
    """The plain values of a condition; empty where it holds for others, too."""
    found = value if isinstance(value, list) else [value]
    plain = all(
        not isinstance(v, dict) and not (isinstance(v, str) and ("*" in v or "?" in v)) for v in found
    )
    return frozenset((type(v), v) for v in found) if plain else frozenset()
