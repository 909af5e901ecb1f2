"""Compares the decisions for one deployment under two releases with the same policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from policy.rules.policy_set import PolicySet
from policy.upgrade.abilities import abilities, changed_features
from policy.upgrade.change import Change
from policy.upgrade.keep import keep_runner
from policy.upgrade.pins import pins_that_rot
from policy.upgrade.side import Side

__all__ = ["Side", "compare"]


def compare(
    name: str,
    document: Mapping[str, Any],
    policies: PolicySet,
    before: Side,
    after: Side,
    *,
    strict_env: bool = False,
    today: date | None = None,
) -> Change:
    """What changes for the deployment `name`, whose facts are `document`; a release in them is not used."""
    old, new = before.facts(document), after.facts(document)
    first = before.decide(policies, old, strict_env=strict_env, today=today)
    second = after.decide(policies, new, strict_env=strict_env, today=today)
    notes = tuple(_notes(document, before))
    if before.known is None or after.known is None:
        return Change(name, first, second, notes=notes)
    return Change(
        name,
        first,
        second,
        abilities=(abilities(before.known, old), abilities(after.known, new)),
        features=changed_features(before.known, old, after.known, new),
        keep=keep_runner(document, policies, (before, first), (after, second), today=today),
        pins=tuple(pins_that_rot(policies, (before.known, old), (after.known, new))),
        notes=notes,
    )


def _notes(document: Mapping[str, Any], before: Side) -> Iterator[str]:
    given = document.get("vllm")
    if given is not None and given != before.version:
        yield f"the facts name vLLM {given}; asked as {before.version}"
