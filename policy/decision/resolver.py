"""Decides many deployments: the same answers as `resolve`, with what they have in common worked out once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from policy.decision.decision import Decision
from policy.decision.resolve import resolve
from policy.decision.serving import SWITCH_PATH, Undecided, in_default_set, with_switch
from policy.engine.catalog import Catalog, UnknownRelease
from policy.engine.release import DERIVED, RUNNERS, EngineRelease
from policy.environment import same_variable
from policy.facts.facts import Facts
from policy.facts.fields import SWITCH
from policy.memory import remember
from policy.rules.match import Match
from policy.rules.policy_set import PolicySet
from policy.rules.selection import Selection

__all__ = ["Resolver"]


class Resolver:
    """Answers for the same policies, catalog and options. Documents are facts as `facts_from_document` returns them.

    Deployments that are alike in every fact that any rule of the policies or of the release can see get the same
    decision, and it is worked out once.
    """

    def __init__(
        self,
        policies: PolicySet,
        catalog: Catalog,
        *,
        assume: str | None = None,
        strict_env: bool = False,
        today: date | None = None,
        expand: bool = True,
    ) -> None:
        """Without `expand`, globs do not expand over the architectures that a release registers."""
        self.policies = policies
        self.catalog = catalog
        self.assume = assume
        self.strict_env = strict_env
        self.today = today
        self.expand = expand
        self._releases: dict[str | None, _Release] = {}

    def decide(self, document: Mapping[str, Any]) -> Decision:
        """The decision for one document: the same object for deployments that are alike.

        Raises `InputError` when its `vllm` is no version, or no release to assume.
        """
        version = document.get("vllm")
        release = self._releases.get(version)
        if release is None:
            release = remember(self._releases, version, _Release(self, version))
        return release.decide(document)


class _Release:
    """One version that deployments name.

    A decision depends on which matches hold, with the switch as it is and as it could be set, on the values that
    the release quotes and on the variables that are set: deployments that share these share the decision.
    """

    def __init__(self, resolver: Resolver, version: str | None) -> None:
        self._resolver = resolver
        policies, catalog = resolver.policies, resolver.catalog
        engine = None if version is None else catalog.find(version, resolver.assume)
        self.engine: EngineRelease | UnknownRelease | None = engine
        self.names = catalog.names_of(engine) if policies.rules and resolver.expand else ()
        self._variables = {*policies.env, *(name for rule in policies.rules for name in rule.env)}
        self._matters: dict[str, bool] = {}
        self._seen: dict[tuple[Any, ...], Decision] = {}
        self._decisions: dict[tuple[Any, ...], Decision] = {}
        if isinstance(engine, EngineRelease):
            matches = [_Matched(part) for match in engine.matches() for part in _of_facts(match)]
            # The facts that words quote, and whether the objects that hold them are on.
            self._quoted = {q for path in engine.quoted for q in (path, f"{path.partition('.')[0]}.")}
            self._engine = Selection(matches, lambda: engine.reader)
            by_switch = (m.match for m in matches if any(x.path == SWITCH_PATH for x in m.match.leaves()))
            self._by_switch = tuple(by_switch)

    def decide(self, document: Mapping[str, Any]) -> Decision:
        facts = Facts(document)
        if not isinstance(self.engine, EngineRelease) or document.get("unknown"):
            return self._resolve(facts)
        seen = self._asked_for(self.engine, facts)
        decision = self._seen.get(seen)
        if decision is None:
            decision = remember(self._seen, seen, self._decide(self.engine, facts))
        return decision

    def _asked_for(self, engine: EngineRelease, facts: Facts) -> tuple[Any, ...]:
        """Every fact that rules, words and layers of the environment can see: what is the same here decides the same."""
        rules = self._resolver.policies.selection.read(facts)
        held = facts.once(engine.reader)
        return (*held.items(), *rules.items(), facts.value("platform"), *self._environment(facts))

    def _decide(self, engine: EngineRelease, facts: Facts) -> Decision:
        key = self._key(engine, facts)
        if key is None:
            return self._resolve(facts)
        decision = self._decisions.get(key)
        return remember(self._decisions, key, self._resolve(facts)) if decision is None else decision

    def _key(self, engine: EngineRelease, facts: Facts) -> tuple[Any, ...] | None:
        """Which matches hold, and what else the decision depends on; None where a fact that may matter is unknown."""
        rules = self._resolver.policies.selection.matching(facts.document)
        held = self._engine.holding(facts)
        if rules is None or held is None:
            return None
        try:
            listed = in_default_set(engine, facts)
        except Undecided:
            return None
        flat = facts.once(engine.reader)
        quoted = frozenset([(path, flat[path]) for path in flat.keys() & self._quoted])
        switched = self._switched(facts) if self._by_switch else None
        # The set of architectures is for one platform, whether or not a match asks for it.
        return (
            tuple([rule.id for rule in rules]),
            held,
            listed,
            facts.value("platform"),
            quoted,
            switched,
            *self._environment(facts),
        )

    def _switched(self, facts: Facts) -> tuple[bool | None, ...]:
        """What holds once the switch has been set or taken away."""
        cases = [with_switch(facts, runner) for runner in (None, *RUNNERS)]
        return tuple([match.value(case) for match in self._by_switch for case in cases])

    def _environment(self, facts: Facts) -> list[tuple[str, str | None]]:
        """The variables that a decision may set, take away or replace."""
        env = facts.document.get("env")
        return [(name, value) for name, value in env.items() if self._is_set(name)] if env else []

    def _is_set(self, name: str) -> bool:
        found = self._matters.get(name)
        if found is None:
            found = remember(self._matters, name, name in self._variables or same_variable(name, SWITCH))
        return found

    def _resolve(self, facts: Facts) -> Decision:
        resolver = self._resolver
        return resolve(
            resolver.policies,
            self.engine,
            facts,
            names=self.names,
            strict_env=resolver.strict_env,
            today=resolver.today,
        )


def _of_facts(match: Match) -> Iterator[Match]:
    """The match itself, or the single facts that it asks for if it asks for what the release derives, too.

    What is derived depends on the release's other matches, which are asked on their own.
    """
    leaves = tuple(match.leaves())
    own = tuple(leaf for leaf in leaves if leaf.path not in DERIVED)
    yield from (match,) if own == leaves else own


class _Matched:
    """A match of the release on its own."""

    __slots__ = ("match",)

    def __init__(self, match: Match) -> None:
        self.match = match
