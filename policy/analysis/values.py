"""Values that stand for all others: one for each way in which a value can satisfy the tests of some matches."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from policy.analysis.axis import OPAQUE
from policy.analysis.texts import text_classes
from policy.document.schema import load_schema
from policy.facts.facts import ABSENT
from policy.facts.fields import NO_DEFAULT, Field
from policy.rules.match import MOST_EXACT, Compare, Differs, Equal, Glob, Test, is_glob

__all__ = ["default_first", "element_values", "scalar_values"]


def default_first(known: Field, values: list[Any]) -> list[Any]:
    """The value that stands for vLLM's default comes first, so that it is what a witness shows."""
    default = ABSENT if known.default is None else known.default
    for i, value in enumerate(values):
        if value is default or (type(value) is type(default) and value == default):
            values.insert(0, values.pop(i))
            break
    return values


def scalar_values(types: Iterable[str], known: Field | None, tests: Sequence[Test]) -> list[Any]:
    """One value of the `types` for each way in which values can satisfy `tests`. Raises `Unanalysable`."""
    if known and known.enum:
        return [v for v in known.enum if v is not None]
    named = dict.fromkeys(
        (type(t.value), t.value) for t in tests if isinstance(t, (Equal, Differs)) and not is_glob(t.value)
    )
    default = known.default if known and known.default is not NO_DEFAULT else None
    values: list[Any] = []
    if "string" in types:
        globs = [t.pattern for t in tests if isinstance(t, Glob)]
        globs += [t.value for t in tests if isinstance(t, Differs) and is_glob(t.value)]
        texts = [v for _, v in named if isinstance(v, str)]
        values += text_classes(texts, globs, default if isinstance(default, str) else None)
    if "boolean" in types:
        values += [False, True]
    if "integer" in types or "number" in types:
        numbers = [v for _, v in named if isinstance(v, (int, float)) and not isinstance(v, bool)]
        bounds = [t.bound for t in tests if isinstance(t, Compare)]
        values += _numbers({*numbers, *bounds}, default, whole="number" not in types)
    if "object" in types:
        values.append(OPAQUE)
    return values


def _numbers(ends: set[float], default: Any, *, whole: bool) -> list[float]:
    """Each bound, and a number between each two, below all and above all. The default comes where it belongs."""
    usable = isinstance(default, (int, float)) and not isinstance(default, bool)
    points = sorted(e for e in ends if isinstance(e, int) or math.isfinite(e))
    if not points:
        return [default if usable else 1]
    between: list[float] = [math.floor(points[0]) - 1]
    between += (v for low, high in pairwise(points) if (v := _between(low, high, whole=whole)) is not None)
    between.append(math.floor(points[-1]) + 1)
    if usable and default not in ends:
        gap = sum(p < default for p in points)
        mine = [i for i, v in enumerate(between) if sum(p < v for p in points) == gap]
        between[mine[0] : mine[0] + 1] = [default]
    if whole:
        return [*(int(p) for p in points if isinstance(p, int) or p.is_integer()), *between]
    return [*points, *between]


def _between(low: float, high: float, *, whole: bool) -> float | None:
    number = math.floor(low) + 1
    if number < high:
        return number
    if whole or abs(low) >= MOST_EXACT:
        return None
    middle = low / 2 + high / 2
    return middle if low < middle < high else None


@functools.cache
def _elements(path: str) -> Mapping[str, Any]:
    """What the schema says of the elements of the list at `path`."""
    node: Mapping[str, Any] = load_schema("facts")
    for step in path.split("."):
        node = node.get("properties", {}).get(step, {})
    found: Mapping[str, Any] = node.get("items", {})
    return found


def element_values(path: str, types: frozenset[str], tests: Sequence[Test]) -> list[Any]:
    """The same for an element of the list at `path`; a value that is no list behaves as a list of itself."""
    declared = _elements(path)
    if "enum" in declared:
        return [v for v in declared["enum"] if v is not None]
    return scalar_values(_element_types(types, declared.get("type")), None, tests)


def _element_types(types: frozenset[str], declared: str | list[str] | None) -> frozenset[str]:
    if declared is None:
        found = set(types)
    else:
        found = {declared} if isinstance(declared, str) else set(declared)
        found |= types & {"string", "integer", "number", "boolean", "object"}
    if "array" in found:
        found.add("object")
    return frozenset(found - {"array", "null"})
