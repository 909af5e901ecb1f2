"""A release's own rules as plain matches: the operator's switch is settled in them, and what is derived is spelled out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from policy.decision.serving import SWITCH_PATH, SWITCH_VALUES
from policy.engine.release import EngineRelease, Runner
from policy.facts.facts import Facts
from policy.facts.fields import SWITCH
from policy.rules.match import All, Any_, Equal, Exists, Leaf, Match, Not

__all__ = ["ALWAYS", "NEVER", "Beyond", "EngineView", "Entry"]

ALWAYS = All(())
NEVER = Any_(())


class Beyond(Exception):  # noqa: N818  (the release is left out)
    """A release asks for something that cannot be spelled out."""


class Entry(NamedTuple):
    """One rule of the release's own choice: `runner` where `match` holds and that of no entry before."""

    match: Match
    runner: Runner


class EngineView:
    """What one release serves and chooses. Made once for a release; matches are made when they are asked for."""

    def __init__(self, engine: EngineRelease) -> None:
        self.engine = engine
        self._refused: dict[tuple[Runner, bool], tuple[Match, ...]] = {}
        self._choices: tuple[Entry, ...] | None = None

    def refused(self, runner: Runner, *, forced: bool) -> tuple[Match, ...]:
        """The matches of which one holds where the release refuses `runner`; with `forced` the switch asks for it,
        else the switch is not set. Raises `Beyond`."""
        key = (runner, forced)
        if key not in self._refused:
            raw = SWITCH_VALUES[runner] if forced and self.engine.switch != "none" else None
            others = [choice for choice in self.engine.overrides if choice.runner != runner]
            if others and len(others) != len(self.engine.overrides):
                raise Beyond("overrides for both runners")
            matches = [choice.match for choice in others]
            matches += (g.match for g in (*self.engine.unsupported[runner], *self.engine.refused[runner]))
            found = (self._plain(match, raw) for match in matches)
            self._refused[key] = tuple(match for match in found if match != NEVER)
        return self._refused[key]

    def choices(self) -> tuple[Entry, ...]:
        """The release's own choice, its switch not set: the first entry that holds. Raises `Beyond`."""
        if self._choices is None:
            entries = (*self.engine.overrides, *self.engine.choice)
            self._choices = tuple(Entry(self._plain(entry.match, None), entry.runner) for entry in entries)
        return self._choices

    def _plain(self, match: Match, switch: str | None) -> Match:
        """`match` where the switch is `switch`, with what the resolver derives spelled out."""
        if isinstance(match, Leaf):
            return self._leaf(match, switch)
        if isinstance(match, Not):
            term = self._plain(match.term, switch)
            return NEVER if term == ALWAYS else ALWAYS if term == NEVER else Not(term)
        every = isinstance(match, All)
        settles, passes = (NEVER, ALWAYS) if every else (ALWAYS, NEVER)
        terms: list[Match] = []
        for term in match.terms:
            plain = self._plain(term, switch)
            if plain == settles:
                return settles
            if plain != passes:
                terms.append(plain)
        if not terms:
            return passes
        return All(tuple(terms)) if every else Any_(tuple(terms))

    def _leaf(self, leaf: Leaf, switch: str | None) -> Match:
        if leaf.path == SWITCH_PATH:
            held = leaf.value(Facts({"env": {} if switch is None else {SWITCH: switch}}))
            return ALWAYS if held else NEVER
        if leaf.path == "default_v2_architecture":
            return self._wanted(leaf, self._listed())
        if leaf.path in ("unsupported.v1", "unsupported.v2"):
            runner: Literal["v1", "v2"] = "v1" if leaf.path.endswith("v1") else "v2"
            gaps = (self._plain(gap.match, switch) for gap in self.engine.unsupported[runner])
            return self._wanted(leaf, [gap for gap in gaps if gap != NEVER])
        return leaf

    def _listed(self) -> list[Match]:
        """Models of which an architecture is in the release's set of V2 architectures."""
        found: list[Match] = []
        for name, where in (self.engine.default_v2_architectures or {}).items():
            named = Leaf("model_config.architectures", (Equal(name),))
            found.append(named if where == ALWAYS else All((named, where)))
        return found

    def _wanted(self, leaf: Leaf, alternatives: Iterable[Match]) -> Match:
        """Whether one of the alternatives holds, as a derived leaf asks for it."""
        some = Any_(tuple(alternatives))
        if len(leaf.tests) == 1:
            test = leaf.tests[0]
            wanted = test.wanted if isinstance(test, Exists) else getattr(test, "value", None)
            if wanted is True:
                return some
            if wanted is False:
                return Not(some) if some.terms else ALWAYS
        raise Beyond(f"`{leaf.path}` is compared with more than whether it is there")
