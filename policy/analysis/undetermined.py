"""Rules that ask for facts which no release in their range has.

Nobody can read such a fact there, neither from a command line nor inside the engine. A fact that is left out has vLLM's
default: the match does not hold for any deployment that asks for another value. One without a default is unknown: the
match is never settled, unless its config object is off and no value was asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from policy.analysis.axis import Axis
from policy.analysis.findings import Undetermined
from policy.analysis.ranked import Ranked
from policy.document.schema import load_schema
from policy.facts.facts import ABSENT, UNKNOWN, Facts
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
        lacking = {path: releases for path, releases in limited.items() if _is_lacking(releases, reached)}
        left_out = {
            path: _left_out(path, with_above=not _is_lacking(_releases_with(_above(path)), reached))
            for path in lacking
        }
        asked = [_asked(ranked, b, left_out) for b in ranked.boxes_of_rule(i)]
        if lacking and all(asked):
            needed = [path for path in lacking if any(path in of_box for of_box in asked)]
            yield Undetermined(rule, tuple(needed), tuple(lacking[path] for path in needed))


def _is_lacking(releases: str | None, reached: Sequence[str]) -> bool:
    """Whether there are releases in a range, and none of them is among those that have a field."""
    return releases is not None and bool(reached) and not any(map(Release(releases).holds, reached))


def _asked(ranked: Ranked, box: int, left_out: Mapping[str, tuple[Any, ...]]) -> frozenset[str]:
    """The paths at which a box asks for another value than those that are there where the fact is left out."""
    axes = ranked.space.axes
    some = ranked.boxes[box]
    return frozenset(
        axes[axis].path
        for axis, mask in (*some.scalars.items(), *some.somes)
        if axes[axis].path in left_out and not _is_met(axes[axis], mask, left_out[axes[axis].path])
    )


def _is_met(axis: Axis, mask: int, values: tuple[Any, ...]) -> bool:
    """Whether one of `values`, or an element of one, is in some of the parts of an axis. A value that has no part of
    its own may be."""
    if mask & axis.absent:
        return True
    for value in values:
        for one in value if isinstance(value, list) else (value,):
            parts = [
                i
                for i, v in enumerate(axis.values)
                if v == one and isinstance(v, bool) is isinstance(one, bool)
            ]
            if (one is not ABSENT and not parts) or any(mask >> i & 1 for i in parts):
                return True
    return False


def _reached(ranked: Ranked, i: int) -> list[str]:
    vllm, line = ranked.space.releases()
    mask = 0
    for b in ranked.boxes_of_rule(i):
        mask |= ranked.boxes[b].scalars.get(vllm, line.full)
    return [release for release, _ in ranked.homes.members(line, mask)]


@functools.cache
def _releases_with(path: str) -> str | None:
    """The releases that have a field; None for all of them."""
    node: Mapping[str, Any] = load_schema("facts")
    for step in path.split("."):
        node = node.get("properties", {}).get(step, {})
    releases = node.get("x-vllm")
    return releases if isinstance(releases, str) else None


@functools.cache
def _left_out(path: str, *, with_above: bool) -> tuple[Any, ...]:
    """What is assumed where a fact is left out, also, `with_above`, with the objects above it on; not the unknown."""
    above = _above(path) if with_above else ""
    documents: list[Mapping[str, Any]] = [{}, {"unknown": [f"{above}.*"]} if above else {}]
    values = [Facts(document).value(path) for document in documents]
    return tuple(value for value in values if value is not UNKNOWN)


def _above(path: str) -> str:
    return path.rpartition(".")[0]
