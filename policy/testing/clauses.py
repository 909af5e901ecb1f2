"""The clause of a rule's match that does not hold, with the fact's value and the place where the clause stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policy.decision.explain import why
from policy.document.diagnostic import Location
from policy.document.source import Document, Source, parse
from policy.facts.facts import Facts
from policy.rules.match import All, Any_, Match, failing_term
from policy.rules.policy_set import PolicyFile, PolicySet, Rule
from policy.rules.read_match import MatchReader

__all__ = ["Clause", "failing_clause"]


@dataclass(frozen=True, slots=True)
class Clause:
    """Why a rule does not match. `location` is that of the clause; of the rule where it cannot be told."""

    location: Location | str
    why: str


def failing_clause(policies: PolicySet, rule: Rule, facts: Facts) -> Clause | None:
    """The first clause of `rule` that does not hold for `facts`; None where it matches."""
    term = failing_term(rule.match, facts)
    if term is None:
        return None
    file = next((f for f in policies.files if rule in f.rules), None)
    return Clause(_location(file, rule, term) or rule.location, _said(term, facts))


def _said(term: Match, facts: Facts) -> str:
    """Of alternatives, what keeps each from holding: `not any of ...` alone sends the reader to the policy."""
    if not isinstance(term, Any_):
        return why(term, facts)
    each = (failing_term(alternative, facts) for alternative in term.terms)
    return "none of its alternatives holds: " + "; ".join(_said(t, facts) for t in each if t is not None)


def _location(file: PolicyFile | None, rule: Rule, term: Match) -> Location | None:
    """Where `term` stands, found by reading the file again: trees carry no positions, and only a failure asks."""
    if file is None or not file.text:
        return None
    document = parse(Source(file.source, file.text))
    index = next(i for i, entry in enumerate(document.data["rules"]) if entry["id"] == rule.id)
    clauses = _clauses(document, document.data["rules"][index]["match"], ["rules", index, "match"])
    return next((document.locate(path, key=True) for path, found in clauses if found == term), None)


def _clauses(
    document: Document, data: Mapping[str, Any], path: Sequence[str | int]
) -> Iterator[tuple[list[str | int], Match]]:
    """Each clause with its path: what `failing_term` may name, the parts of `all` and of several operators too."""
    reader = MatchReader(document)
    for key, value in data.items():
        here = [*path, key]
        if key == "all":
            for i, item in enumerate(value):
                yield from _clauses(document, item, [*here, i])
        elif isinstance(value, Mapping) and key != "not":
            for operator, operand in value.items():
                yield [*here, operator], _only(reader.read({key: {operator: operand}}, path))
        else:
            yield here, _only(reader.read({key: value}, path))


def _only(match: Match) -> Match:
    """The one term of a match that was read from one key."""
    return match.terms[0] if isinstance(match, All) else match
