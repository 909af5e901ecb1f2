"""One change of a document: where, what it was, what it became, and the changed values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Change", "Path", "dropped", "inside", "without"]

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """`value` replaces what stands where the generator of changes was asked; `path` says where within it."""

    path: Path
    said: str
    value: Any = field(repr=False, compare=False)


def inside(data: Any, step: str | int, changes: Iterable[Change]) -> Iterator[Change]:
    """The changes of the child at `step`, as changes of `data`."""
    for change in changes:
        yield Change((step, *change.path), change.said, _copy(data, step, change.value))


def dropped(data: Mapping[str, Any] | Sequence[Any]) -> Iterator[Change]:
    """Each child taken away in turn, as long as another is left."""
    if len(data) < 2:
        return
    steps: Iterable[str | int] = data if isinstance(data, Mapping) else range(len(data))
    for step in steps:
        yield Change((step,), f"{_named(data, step)} is taken away", without(data, step))


def without(data: Any, step: str | int) -> Any:
    """A copy of a mapping or a list that lacks one child."""
    whole = _copy(data, step, None)
    del whole[step]
    return whole


def _copy(data: Any, step: str | int, value: Any) -> Any:
    """A copy of a mapping or a list with another child."""
    whole: Any = dict(data) if isinstance(data, Mapping) else list(data)
    whole[step] = value
    return whole


def _named(data: Any, step: str | int) -> str:
    if isinstance(data, Mapping):
        return f"`{step}`"
    text = json.dumps(data[step], ensure_ascii=False)
    return f"`{text}`"
