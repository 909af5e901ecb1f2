"""Compares the decisions for deployments under two releases with the same policies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, NamedTuple

from policy.decision import Decision
from policy.decision.resolver import Resolver
from policy.engine.catalog import Catalog
from policy.engine.release import EngineRelease, Runner
from policy.memory import remember
from policy.rules.policy_set import PolicySet
from policy.upgrade.abilities import abilities, changed_features
from policy.upgrade.change import Abilities, Change, Features
from policy.upgrade.keep import Keep, deciding, given_by, keep_runner, wanted
from policy.upgrade.pins import Pin, pins_that_rot
from policy.upgrade.side import Side

__all__ = ["Comparer"]


class _Alike(NamedTuple):
    """What deployments have in common that are decided alike under both releases.

    `paths` are the facts that a pin would name, where there is to be one.
    """

    before: Decision
    after: Decision
    abilities: tuple[Abilities, Abilities]
    features: Mapping[Runner, Features]
    pins: tuple[Pin, ...]
    paths: tuple[str, ...] | None


class Comparer:
    """Compares deployments under the same policies, catalog and options.

    The resolver gives deployments that are alike in every fact that any rule can see one and the same decision. What
    is asked here of matches and of what a release quotes is then the same as well, and is worked out once.
    """

    def __init__(
        self,
        policies: PolicySet,
        catalog: Catalog,
        before: str,
        after: str,
        *,
        assume: str | None = None,
        strict_env: bool = False,
        today: date | None = None,
    ) -> None:
        """Raises `InputError` when a release is no version, or there is none to assume."""
        self.before = Side(before, catalog.find(before, assume))
        self.after = Side(after, catalog.find(after, assume))
        self._policies = policies
        self._today = today
        # The set of architectures is no part of an upgrade report, so globs need not expand.
        self._resolver = Resolver(
            policies, catalog, assume=assume, strict_env=strict_env, today=today, expand=False
        )
        self._alike: dict[tuple[int, int], _Alike] = {}
        self._keeps: dict[tuple[int, int, str], tuple[_Alike, Keep | None]] = {}
        self._pinned: dict[tuple[int, int], _Alike] = {}

    def compare(self, name: str, document: Mapping[str, Any]) -> Change:
        """What changes for the deployment `name`, whose facts are `document`; a release in them is not used."""
        first = self._resolver.decide(self.before.document(document))
        second = self._resolver.decide(self.after.document(document))
        notes = tuple(_notes(document, self.before))
        before, after = self.before.known, self.after.known
        if before is None or after is None:
            return Change(name, first, second, notes=notes)
        known = self._alike.get((id(first), id(second)))
        if known is None:
            # The decisions are kept with it, so that no other gets their ids.
            alike = self._work_out(document, before, after, first, second)
            known = remember(self._alike, (id(first), id(second)), alike)
        return Change(
            name,
            first,
            second,
            abilities=known.abilities,
            features=known.features,
            keep=self._keep(document, known),
            pins=known.pins,
            notes=notes,
        )

    def _work_out(
        self,
        document: Mapping[str, Any],
        before: EngineRelease,
        after: EngineRelease,
        first: Decision,
        second: Decision,
    ) -> _Alike:
        old, new = self.before.facts(document), self.after.facts(document)
        sides = ((self.before, first), (self.after, second))
        return _Alike(
            first,
            second,
            (abilities(before, old), abilities(after, new)),
            changed_features(before, old, after, new),
            tuple(pins_that_rot(self._policies, (before, old), (after, new))),
            deciding(document, self._policies, *sides) if wanted(*sides) else None,
        )

    def _keep(self, document: Mapping[str, Any], alike: _Alike) -> Keep | None:
        """The pin for a deployment: the same for those that are decided alike and say the same where it looks."""
        if alike.paths is None:
            return None
        pair = (id(alike.before), id(alike.after))
        key = (*pair, json.dumps(given_by(document, alike.paths), default=repr))
        found = self._keeps.get(key)
        if found is None:
            keep = keep_runner(
                document,
                self._policies,
                (self.before, alike.before),
                (self.after, alike.after),
                paths=alike.paths,
                held=pair in self._pinned,
                today=self._today,
            )
            if keep is not None and keep.rule is not None:
                remember(self._pinned, pair, alike)
            found = remember(self._keeps, key, (alike, keep))
        return found[1]


def _notes(document: Mapping[str, Any], before: Side) -> Iterator[str]:
    given = document.get("vllm")
    if given is not None and given != before.version:
        yield f"the facts name vLLM {given}; asked as {before.version}"
