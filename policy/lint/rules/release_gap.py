"""Two neighbouring ranges leave out the candidates and nightlies between them.

By PEP 440 `<0.12` leaves `0.12.0rc1` and `0.12.0.dev3` out, and `>=0.12` too, as they come before 0.12. So do `~=0.11.0`
and `~=0.12.0`. A fleet on nightlies falls through the hole between two such rules.

Rules are neighbours where they ask for the same beside releases, or one of them for more, and nothing else keeps them
apart: not another platform, architecture or label. Ranges of one rule are, where they are a list, or in items of one `any`
that differ in nothing else. Where a third rule has some of the hole, nothing is said.

`--fix` moves both ends of a plain pair (`<0.12` and `>=0.12`) to `.dev0`, which takes the candidates and nightlies into the
later range, where no other rule has a say there and neither range is shared by an anchor.

A comment that silences this may stand at either end.

Fails:

```yaml
rules:
  - id: before
    match: {architectures: LlamaForCausalLM, vllm: ">=0.22.dev0,<0.25"}
    runner: v1
  - id: after
    match: {architectures: LlamaForCausalLM, vllm: ">=0.25"}
    runner: v2
  - id: both
    match: {architectures: MistralForCausalLM, vllm: ["<0.25", ">=0.25"]}
    runner: v1
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

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from packaging.version import Version

from policy.lint.bounds import Bound, bounds, moved_to_dev
from policy.lint.finding import Finding, Fix, Related, Span
from policy.lint.neighbours import Conditions, Nearby
from policy.lint.registry import Rule
from policy.lint.subject import Subject
from policy.lint.text import RuleText
from policy.lint.unions import seam

if TYPE_CHECKING:
    from policy.lint.release_sets import ReleaseSets

__all__ = ["RULE", "check"]

RULE = Rule(
    "RE305",
    "release-gap",
    "warning",
    "two neighbouring ranges leave out the candidates and nightlies between them",
    mutual=True,
)


class _Ranged(NamedTuple):
    """A rule, the pieces of releases in which it may match, and what else it asks for."""

    text: RuleText
    releases: int
    rest: Conditions


def check(subject: Subject) -> Iterator[Finding]:
    begins = _begins(subject.rules)
    if not begins:
        return
    from policy.analysis.unanalysable import Unanalysable  # noqa: PLC0415  (few policies begin a range so)
    from policy.lint.release_sets import ReleaseSets  # noqa: PLC0415

    before = _before(begins, subject.catalog.releases)
    try:
        sets = ReleaseSets(subject.rules, [v for begin, low in before.items() for v in (low, _first(begin))])
    except Unanalysable:  # RM214 says so
        return
    ranged = [
        _Ranged(rule, sets.of(rule.rule.match), Conditions(rule)) for rule in subject.rules if rule.rule
    ]
    for begin, low in before.items():
        yield from _gaps(ranged, sets, begin, low, begins[begin])


def _gaps(
    ranged: Sequence[_Ranged], sets: ReleaseSets, begin: Version, low: Version, text: str
) -> Iterator[Finding]:
    """The neighbours of which one ends below `begin`, the other begins at it, and nothing has its candidates."""
    line = sets.line
    hole = line.from_to(_first(begin), begin)
    below = line.from_to(low, _first(begin))
    at = 1 << line.piece(begin)
    inside = [rule for rule in ranged if rule.releases & hole]
    ends = [r for r in ranged if r.releases & below and not r.releases & hole and not _is_pinned(r.text)]
    nearby = Nearby([end.rest for end in ends])
    for start in ranged:
        if not start.releases & at or start.releases & hole:
            continue
        if start.releases & below and len(start.text.ranges) > 1:
            yield from _gap_within(start, inside, begin)
        near = (ends[i] for i in nearby.of(start.rest))
        found = next((e for e in near if e.text is not start.text and e.rest.alike(start.rest)), None)
        if found is None:
            continue
        others = [o for o in inside if o.rest.meets(found.rest) or o.rest.meets(start.rest)]
        taken = any(
            o.rest.ranged or o.rest.holds_with(start.rest) or o.rest.holds_with(found.rest) for o in others
        )
        if not taken:
            yield _gap(found.text, start.text, text, sure=not others)


def _gap_within(rule: _Ranged, inside: Sequence[_Ranged], release: Version) -> Iterator[Finding]:
    """The gap between two ranges of one rule that are meant as one."""
    found = seam(rule.text, release)
    others = [other for other in inside if other.rest.meets(rule.rest)]
    if found is None or any(o.rest.ranged or o.rest.holds_with(rule.rest) for o in others):
        return
    end, begin = found
    help_, fix = _moved(end, begin, sure=not others)
    yield RULE.finding(
        begin.span,
        f"`<{end.text}` and `>={begin.text}` of one match both leave out {begin.text}rc1 and nightlies",
        help_,
        related=[Related(end.span, "the other range ends here")],
        fix=fix,
    )


def _moved(end: Bound, begin: Bound, *, sure: bool) -> tuple[str, Fix | None]:
    """What to write at the ends of a gap, and the fix where there may be one."""
    help_ = f"write `<{end.text}.dev0` there and `>={begin.text}.dev0` here"
    if end.may_be_shared or begin.may_be_shared:
        return (
            f"{help_}; by hand, as one has an anchor, or is in what has one, and may be another rule's too",
            None,
        )
    if not sure:
        return f"{help_}; by hand, as another rule has a say there", None
    edits = tuple(moved_to_dev(bound) for bound in (end, begin))
    return help_, Fix(f"move both ends to {begin.text}.dev0", edits)


def _gap(before: RuleText, start: RuleText, text: str, *, sure: bool) -> Finding:
    """`sure` says that no other rule has a say in the gap."""
    end, begin = (_bound(before, "<", text), _bound(start, ">=", text))
    if end is not None and begin is not None:
        there, here = (end.span, f"<{end.text}"), (begin.span, f">={begin.text}")
        text = begin.text
        help_, fix = _moved(end, begin, sure=sure)
    else:
        there, here = _range(before), _range(start)
        help_ = f"let one of them have these, too: `>={text}.dev0` begins with the first nightly"
        fix = None
    return RULE.finding(
        here[0],
        f"`{there[1]}` of rule `{before.id}` and `{here[1]}` here both leave out {text}rc1 and nightlies",
        help_,
        related=[Related(there[0], f"rule `{before.id}` ends here")],
        fix=fix,
    )


def _bound(rule: RuleText, operator: str, text: str) -> Bound | None:
    same = Version(text)
    return next((b for b in bounds(rule) if b.operator == operator and Version(b.text) == same), None)


def _range(rule: RuleText) -> tuple[Span, str]:
    """Where a rule's range stands and what it says: all of it, where it is in several places the first."""
    condition = next(c for c in rule.conditions if c.path == "vllm")
    written = " or ".join(word for word, _ in condition.words())
    return rule.file.span(*condition.at), written


def _begins(rules: Sequence[RuleText]) -> Mapping[Version, str]:
    """The plain releases at which a range begins, as they are written; none if there are no two ranges."""
    found: dict[Version, str] = {}
    several = 0
    for rule in rules:
        several += len(rule.ranges)
        for word, _ in rule.ranges:
            for text in _plain_begins(word):
                found.setdefault(Version(text), text)
    return dict(sorted(found.items())) if several > 1 else {}


@functools.cache
def _plain_begins(specifier: str) -> tuple[str, ...]:
    clauses = (_BEGIN.fullmatch(clause.strip()) for clause in specifier.split(","))
    return tuple(clause[1] for clause in clauses if clause)


_PIN = re.compile(r"\s*(?:==)?\s*[\w.+!]+\s*$")
_BEGIN = re.compile(r"(?:>=|~=)\s*(\d+(?:\.\d+)*)")


def _first(release: Version) -> Version:
    return Version(f"{release}.dev0")


def _before(begins: Mapping[Version, str], described: Sequence[str]) -> Mapping[Version, Version]:
    """For each release from where on a range has to reach for nothing but candidates and nightlies to be left out.

    That is the described release before it. Of one that nobody described, nobody knows which came before: there the
    range has to end where its nightlies begin.
    """
    known = [Version(name) for name in described]
    found = {}
    for begin in begins:
        older = [version for version in known if version < begin]
        found[begin] = older[-1] if older and begin in known else _last_below(begin)
    return found


def _last_below(release: Version) -> Version:
    """Later than all that is released before a release, and earlier than its nightlies."""
    numbers = list(release.release)
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return Version(".".join(map(str, [*numbers[:-1], max(numbers[-1] - 1, 0), 999_999])))


def _is_pinned(rule: RuleText) -> bool:
    """Whether all ranges of a rule are single releases, which mean no other."""
    return all(_PIN.match(word) for word, _ in rule.ranges)
