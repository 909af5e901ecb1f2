"""Why each rule did or did not match, for `--explain`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from policy.decision.serving import Undecided, derived_for, with_switch
from policy.engine.release import EngineRelease
from policy.facts.facts import ABSENT, UNKNOWN, Facts
from policy.rules.match import Equal, Exists, Leaf, Match, Not, failing_term
from policy.rules.policy_set import PolicySet
from policy.secret import HIDDEN, shown, shown_entry

__all__ = ["LookedAt", "explain", "why", "without_secrets"]


class LookedAt(NamedTuple):
    """One rule that was looked at. `matched` is None when an unknown fact keeps it open."""

    layer: str
    rule: str
    wish: str
    location: str | None
    matched: bool | None
    why: str

    def as_json(self) -> dict[str, Any]:
        return {
            "layer": self.layer,
            "rule": self.rule,
            "wish": self.wish,
            "location": self.location,
            "matched": self.matched,
            "why": self.why,
        }


def explain(policies: PolicySet, engine: EngineRelease, facts: Facts) -> list[LookedAt]:
    """Every policy rule, in the order in which they are asked, then the release's own rules."""
    looked = [
        LookedAt("policy", rule.id, f"{rule.enforce} {rule.runner}", rule.location, *_held(rule.match, facts))
        for rule in policies.rules
    ]
    looked.extend(_engine(engine, facts))
    return looked


def _engine(engine: EngineRelease, facts: Facts) -> Iterator[LookedAt]:
    there = with_switch(facts, None)
    for choice in (*engine.overrides, *engine.choice):
        try:
            asked = derived_for(choice, engine, there)
        except Undecided as undecided:
            held: tuple[bool | None, str] = (None, f"not known: {', '.join(undecided.paths)}")
        else:
            held = _held(choice.match, asked)
        yield LookedAt("engine", choice.id, choice.runner, None, *held)


def _held(match: Match, facts: Facts) -> tuple[bool | None, str]:
    held = match.value(facts)
    if held is True:
        return True, "every condition holds"
    term = failing_term(match, facts) or match
    return held, why(term, facts)


def without_secrets(term: Match) -> Match:
    """The term as it may be said: what it wants of a variable that looks like a secret is hidden."""
    if isinstance(term, Leaf):
        asked = [str(test) for test in term.tests if not isinstance(test, Exists)]
        hidden = any(shown(term.path, said) != said for said in asked)
        return Leaf(shown_entry(term.path), (Equal(HIDDEN),) if hidden else term.tests)
    if isinstance(term, Not):
        return Not(without_secrets(term.term))
    return type(term)(tuple(map(without_secrets, term.terms)))


def why(term: Match, facts: Facts) -> str:
    """What keeps a term of a match from holding, with the fact's value; secrets are hidden."""
    said = without_secrets(term)
    if not isinstance(term, Leaf) or not isinstance(said, Leaf):
        return f"does not hold: {said}" if term.value(facts) is False else f"not known: {said}"
    given = facts.value(term.path)
    wanted = " or ".join(str(test) for test in said.tests)
    if given is UNKNOWN:
        return f"{said.path} is not known; wanted {wanted}"
    found = "off" if given is ABSENT else shown(term.path, _said(given))
    return f"{said.path} is {found}; wanted {wanted}"


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(str(v) for v in value) + "]"
    return "on" if isinstance(value, dict) else str(value)
