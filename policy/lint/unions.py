"""Ranges of one match that are meant as one: a list of them, or items of an `any` that differ in nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from packaging.version import Version

from policy.facts.fields import expand
from policy.lint.bounds import Bound, ends
from policy.lint.text import RuleText, Step, Word, words

__all__ = ["seam"]


def seam(rule: RuleText, release: Version) -> tuple[Bound, Bound] | None:
    """Where one range ends below a final release and another one of the same union begins at it; None if none do."""
    for ranges in _unions(rule.data["match"], ("rules", rule.index, "match")):
        found = [
            Bound(rule, operator, text, at)
            for specifier, at in ranges
            for operator, text in ends(specifier)
            if Version(text) == release
        ]
        for end in found:
            for begin in found:
                if (end.operator, begin.operator) == ("<", ">=") and end.at != begin.at:
                    return end, begin
    return None


def _unions(match: Mapping[str, Any], at: tuple[Step, ...]) -> Iterator[list[Word]]:
    """The ranges of each union. Those below `not` may be there for what they leave out."""
    for key, value in match.items():
        here = (*at, key)
        if key in ("all", "any"):
            for i, item in enumerate(value):
                yield from _unions(item, (*here, i))
        if key == "any":
            yield from _alternatives(value, here)
        elif expand(key) == "vllm" and isinstance(value, list):
            yield words(value, here)


def _alternatives(items: list[Mapping[str, Any]], at: tuple[Step, ...]) -> Iterator[list[Word]]:
    """The ranges of items that ask for the same beside them."""
    alike: dict[str, list[Word]] = {}
    for i, item in enumerate(items):
        rest = repr(sorted((key, repr(value)) for key, value in item.items() if expand(key) != "vllm"))
        for key, value in item.items():
            if expand(key) == "vllm":
                alike.setdefault(rest, []).extend(words(value, (*at, i, key)))
    yield from alike.values()
