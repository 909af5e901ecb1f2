"""Puts the tests to each changed policy, until one notices."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from policy.decision.expectations import unmet
from policy.document.diagnostic import DocumentError, Location
from policy.document.schema import check
from policy.document.source import Document, Source, parse
from policy.input_error import InputError
from policy.mutation.change import Change
from policy.mutation.rules import policy_changes
from policy.rules.match import Match
from policy.rules.policy_set import PolicyFile, PolicySet, Rule, compose, rule_from_data
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
    by_file: dict[int, tuple[PolicyFile, list[Asked]]] = {}
    for one in asked:
        for file in one.suite.policies.files:
            by_file.setdefault(id(file), (file, []))[1].append(one)
    mutants = [mutant for file, tests in by_file.values() for mutant in _of_file(file, tests, findings)]
    return Mutation(tuple(sorted(mutants, key=lambda m: (m.location, m.said))))


def _of_file(file: PolicyFile, asked: Sequence[Asked], findings: Findings | None) -> Iterator[Mutant]:
    document = parse(Source(file.source, file.text))
    before = frozenset(findings(document)) if findings else frozenset()
    for index, changes in itertools.groupby(policy_changes(document.data), _rule_index):
        old = None if index is None else file.rules[index]
        held = None if old is None else [(one, old.match.value(one.question.facts)) for one in asked]
        for change in changes:
            changed = _changed_file(file, document.data, change)
            if changed is None:
                continue
            telling = asked if old is None or held is None else _telling(old, changed, held)
            noticed = _noticing_test(file, changed, telling)
            if noticed is None and findings is not None:
                now = Document(document.source, change.value, document.marks)
                noticed = "lint" if set(findings(now)) - before else None
            steps = change.path if old is None else change.path[2:]
            location = document.locate(change.path, key=True)
            yield Mutant(location, old.id if old else None, _dotted(steps), change.said, noticed)


def _rule_index(change: Change) -> int | None:
    return int(change.path[1]) if change.path[0] == "rules" else None


def _dotted(steps: Sequence[str | int]) -> str:
    """A path as people write it: `match.any[0].platform`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def _changed_file(file: PolicyFile, data: Mapping[str, Any], change: Change) -> PolicyFile | None:
    """The policy with the change, or None where it is none. Only the rule that changed is read again."""
    if change.path[0] == "env":
        return replace(file, env=change.value["env"]) if _fits({**change.value, "rules": []}) else None
    index = int(change.path[1])
    before, after = file.rules[:index], file.rules[index + 1 :]
    if len(change.path) == 2:
        return replace(file, rules=(*before, *after))
    entry = change.value["rules"][index]
    rule = _read_rule(file.rules[index], entry) if _fits({**data, "rules": [entry], "tests": []}) else None
    return None if rule is None else replace(file, rules=(*before, rule, *after))


def _fits(data: Mapping[str, Any]) -> bool:
    try:
        check(Document.unmarked("", data), "policy")
    except DocumentError:
        return False
    return True


def _read_rule(old: Rule, entry: Mapping[str, Any]) -> Rule | None:
    match: Match = old.match
    if entry["match"] != old.data["match"]:
        reader = MatchReader(Document.unmarked("", {}))
        match = reader.read(entry["match"], ())
        if reader.findings:
            return None
    return rule_from_data(entry, match, old.policy, old.location)


def _telling(old: Rule, changed: PolicyFile, held: Iterable[tuple[Asked, bool | None]]) -> Iterator[Asked]:
    """The tests whose decision may change. A rule that does not match before and after has no part in it."""
    new = next((rule for rule in changed.rules if rule.id == old.id), None)
    for one, before in held:
        question = one.question
        if "warnings" in question.test.expect:
            yield one  # warnings may tell of architectures that the test does not name
        elif new is None or new.match is old.match:
            if before is not False:
                yield one
        elif before is None or new.match.value(question.facts) is not before:
            yield one


def _noticing_test(file: PolicyFile, changed: PolicyFile, asked: Iterable[Asked]) -> str | None:
    """The place of the first test that fails for the changed policy."""
    sets: dict[int, PolicySet] = {}
    for one in asked:
        suite = one.suite.policies
        if id(suite) not in sets:
            try:
                sets[id(suite)] = compose(changed if f is file else f for f in suite.files)
            except InputError:
                return one.question.test.location  # the files no longer go together, and the run says so
        decision = one.question.decide(sets[id(suite)])
        if any(unmet(decision, one.question.test.expect)):
            return one.question.test.location
    return None
