"""Rules that ask for facts which no release in their range has, and of which nothing is assumed.

A fact that is left out has vLLM's default; one without a default is unknown. Where no release in a rule's range has
the field, nobody can read it there, neither from a command line nor inside the engine: the match is never settled,
unless its config object is off and no value was asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from policy.analysis.findings import Undetermined
from policy.analysis.ranked import Ranked
from policy.document.schema import load_schema
from policy.facts.facts import UNKNOWN, Facts
from policy.rules.match import Release

__all__ = ["always_undetermined"]


def always_undetermined(ranked: Ranked) -> Iterator[Undetermined]:
    """The rules of which every way to match needs a fact that their releases lack."""
    for i, rule in enumerate(ranked.rules):
        paths = {leaf.path for leaf in rule.match.leaves()}
        limited = {path: releases for path in sorted(paths) if (releases := _releases_with(path))}
        if not limited:
            continue
        reached = _reached(ranked, i)
        lacking = {
            path: releases
            for path, releases in limited.items()
            if reached and not any(Release(releases).holds(release) for release in reached)
        }
        if lacking and all(_asks_for(ranked, b, lacking) for b in ranked.boxes_of_rule(i)):
            yield Undetermined(rule, tuple(lacking), tuple(lacking.values()))


def _asks_for(ranked: Ranked, box: int, paths: Mapping[str, str]) -> bool:
    """Whether a box asks for a value, not for none, at one of `paths`."""
    axes = ranked.space.axes
    some = ranked.boxes[box]
    valued = [axis for axis, mask in some.scalars.items() if not mask & axes[axis].absent]
    return any(axes[axis].path in paths for axis in (*valued, *(axis for axis, _ in some.somes)))


def _reached(ranked: Ranked, i: int) -> list[str]:
    vllm, line = ranked.space.releases()
    mask = 0
    for b in ranked.boxes_of_rule(i):
        mask |= ranked.boxes[b].scalars.get(vllm, line.full)
    return [release for release, _ in ranked.homes.members(line, mask)]


@functools.cache
def _releases_with(path: str) -> str | None:
    """The releases that have a field of which nothing is assumed; None for all of them, or where there is a default."""
    node: Mapping[str, Any] = load_schema("facts")
    for step in path.split("."):
        node = node.get("properties", {}).get(step, {})
    releases = node.get("x-vllm")
    if not isinstance(releases, str):
        return None
    above = path.rpartition(".")[0]
    opened = Facts({"unknown": [f"{above}.*"]} if above else {})  # with the objects above it on
    return releases if opened.value(path) is UNKNOWN else None
