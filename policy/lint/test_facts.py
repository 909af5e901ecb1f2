"""The facts of many tests at once: whether they all fit, in one call of the validator."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema_rs

from policy.document.schema import load_schema
from policy.facts.facts import steps_to
from policy.facts.fields import expand

__all__ = ["all_fit", "plainly_nested"]


def plainly_nested(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """The facts of a test as a nested document; None where that takes a closer look.

    That is where two keys lie on one path, and where facts are unknown. The values are those of `given`, not copies.
    """
    document: dict[str, Any] = {}
    made = {id(document)}
    for key, value in given.items():
        *above, last = _steps(key)
        node: Any = document
        for step in above:
            below = node.get(step)
            if below is None and step not in node:
                below = node[step] = {}
                made.add(id(below))
            elif id(below) not in made:
                return None
            node = below
        if last in node:
            return None
        node[last] = value
    return None if "unknown" in document else document


def all_fit(documents: Sequence[Mapping[str, Any]]) -> bool:
    """Whether every one of these nested documents fits the schema of facts."""
    return bool(_validator().is_valid(documents))


@functools.cache
def _validator() -> Any:
    facts = load_schema("facts")
    return jsonschema_rs.validator_for({"type": "array", "items": facts}, validate_formats=True)


@functools.cache
def _steps(key: str) -> tuple[str, ...]:
    return tuple(steps_to(expand(key)))
