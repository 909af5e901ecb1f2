"""What the schema says of a fact: its types, and the objects that it lies in."""

from __future__ import annotations

import functools
from typing import NamedTuple

from policy.analysis.unanalysable import Unanalysable
from policy.facts.facts import canonical_name
from policy.facts.fields import OPEN_MAPPINGS, Field, field

__all__ = ["Shape", "normal", "shape_of"]


class Shape(NamedTuple):
    """What the schema says of a path: `above` is the nearest config object over it that may be off."""

    types: frozenset[str]
    known: Field
    above: str | None
    free: str | None  # the free-form object's entry that it lies below
    may_be_absent: bool


@functools.cache
def shape_of(path: str) -> Shape:
    known = field(path)
    if known is None:
        raise Unanalysable(f"`{path}` is no fact of a deployment")
    steps = path.split(".")
    above = free = None
    if steps[0] not in OPEN_MAPPINGS:
        for end in range(1, len(steps)):
            upper = ".".join(steps[:end])
            over = field(upper)
            if over and "object" in over.types:
                if "null" in over.types:
                    above = upper
                if len(over.types) > 2 or set(over.types) - {"object", "null"}:
                    free = upper
    types = frozenset(known.types)
    absent = "null" in types or above is not None or free is not None or steps[0] in OPEN_MAPPINGS
    return Shape(types, known, above, free, absent)


@functools.cache
def normal(path: str) -> str:
    """The path under which a fact is kept: a distribution under its one name."""
    head, _, name = path.partition(".")
    return f"packages.{canonical_name(name)}" if head == "packages" and name else path
