"""Puts the tests to each changed policy, until one notices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policy.document.diagnostic import DocumentError, Location
from policy.document.schema import check
from policy.document.source import Document, Source, parse
from policy.mutation.change import Change
from policy.mutation.judge import Case
from policy.mutation.rules import policy_changes
from policy.rules.match import Match
from policy.rules.policy_set import PolicyFile, Rule, rule_from_data
from policy.rules.read_match import MatchReader
from policy.testing.run import Asked

__all__ = ["Findings", "Mutant", "Mutation", "mutate"]

# What else may notice a change: whatever it finds in a policy document. A change is noticed by a new finding.
Findings = Callable[[Document], Collection[Hashable]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed policy. `noticed_by` is the place of the test that failed, `lint`, or None: it survived."""

    location: Location
    rule: str | None
    field: str
    said: str
    noticed_by: str | None

    def as_json(self) -> dict[str, Any]:
        return {
            "location": str(self.location),
            "rule": self.rule,
            "field": self.field,
            "change": self.said,
            "noticed_by": self.noticed_by,
        }


@dataclass(frozen=True, slots=True)
class Mutation:
    """Every mutant, in the order of their places."""

    mutants: tuple[Mutant, ...]

    @property
    def survivors(self) -> tuple[Mutant, ...]:
        return tuple(mutant for mutant in self.mutants if mutant.noticed_by is None)

    @property
    def percent(self) -> float:
        return (
            100.0 * (len(self.mutants) - len(self.survivors)) / len(self.mutants) if self.mutants else 100.0
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "changes": len(self.mutants),
            "noticed": len(self.mutants) - len(self.survivors),
            "percent": round(self.percent, 2),
            "survivors": [mutant.as_json() for mutant in self.survivors],
        }


def mutate(asked: Sequence[Asked], findings: Findings | None = None) -> Mutation:
    """Change every policy that is tested, one thing at a time, and see which tests notice.

    All of `asked` must pass for the policies as they are. A change that gives no valid policy is no mutant: what
    loads is what could be merged.
    """
    by_file: dict[int, tuple[PolicyFile, list[Case]]] = {}
    for case in map(Case, asked):
        for file in case.asked.suite.policies.files:
            by_file.setdefault(id(file), (file, []))[1].append(case)
    mutants = [mutant for file, cases in by_file.values() for mutant in _of_file(file, cases, findings)]
    return Mutation(tuple(sorted(mutants, key=lambda m: (m.location, m.said))))


def _of_file(file: PolicyFile, cases: Sequence[Case], findings: Findings | None) -> Iterator[Mutant]:
    document = parse(Source(file.source, file.text))
    before = frozenset(findings(document)) if findings else frozenset()
    dated = any(case.asked.question.test.today is not None for case in cases)
    for change in policy_changes(document.data):
        if not dated and _moves_the_day(change):
            continue  # no test has a day against which the rule could expire
        index = int(change.path[1]) if change.path[0] == "rules" else None
        old = None if index is None else file.rules[index]
        try:
            noticed = _noticed_by(file, old, change, cases)
        except _NoPolicy:
            continue
        if noticed is None and findings is not None:
            now = Document(document.source, change.value, document.marks)
            noticed = "lint" if set(findings(now)) - before else None
        steps = change.path if old is None else change.path[2:]
        location = document.locate(change.path, key=True)
        yield Mutant(location, old.id if old else None, _dotted(steps), change.said, noticed)


def _moves_the_day(change: Change) -> bool:
    if change.path[2:] != ("expires",):
        return False
    return "expires" in change.value["rules"][change.path[1]]


class _NoPolicy(Exception):  # noqa: N818  (not an error: a change that nobody could merge is none)
    pass


def _noticed_by(file: PolicyFile, old: Rule | None, change: Change, cases: Iterable[Case]) -> str | None:
    """The place of the first test that fails. Only the rule that changed is read again."""
    data = change.value
    if old is None:
        _check({**data, "rules": []})
        new_file = file._replace(env=data["env"])
        return next((case.location for case in cases if case.notices_env(file, new_file)), None)
    new = None
    if len(change.path) > 2:
        entry = data["rules"][change.path[1]]
        _check({**data, "rules": [entry], "tests": []})
        new = _read_rule(old, entry)
    return next((case.location for case in cases if case.notices_rule(old, new)), None)


def _check(data: Mapping[str, Any]) -> None:
    try:
        check(Document.unmarked("", data), "policy")
    except DocumentError as error:
        raise _NoPolicy from error


def _dotted(steps: Sequence[str | int]) -> str:
    """A path as people write it: `match.any[0].platform`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def _read_rule(old: Rule, entry: Mapping[str, Any]) -> Rule:
    match: Match = old.match
    if entry["match"] != old.data["match"]:
        reader = MatchReader(Document.unmarked("", {}))
        match = reader.read(entry["match"], ())
        if reader.findings:
            raise _NoPolicy
    return rule_from_data(entry, match, old.policy, old.location)
