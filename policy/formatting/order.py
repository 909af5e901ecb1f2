"""The order of keys: that of the schemas, which is the order in which the docs explain them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from policy.document.schema import load_schema

__all__ = ["ORDERED", "key_order"]

# What is put in order, the innermost first: paths in a document, and where in a schema their keys are declared.
# The keys of `match`, `given` and `env` are the author's own, and so is their order.
ORDERED: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("tests", "*", "expect"), ("$defs", "test", "properties", "expect")),
    (("rules", "*"), ("$defs", "rule")),
    (("tests", "*"), ("$defs", "test")),
    (("metadata",), ("properties", "metadata")),
    ((), ()),
)


@functools.cache
def key_order(schema: str, place: tuple[str, ...]) -> tuple[str, ...]:
    """The keys that a schema declares at a place, in its order; none where it has no such place."""
    node: Any = load_schema(schema)
    for step in place:
        node = node.get(step) if isinstance(node, Mapping) else None
    return tuple(node.get("properties", ())) if isinstance(node, Mapping) else ()
