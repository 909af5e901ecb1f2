"""Reads documents that are alike in their keys: what the keys alone decide is worked out once.

Documents that come one after the other mostly have the same shape. For a shape that keeps coming, a function is made
that checks the keys and takes the values in a fraction of a microsecond.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from policy.facts.facts import Facts
from policy.facts.fields import OPEN_MAPPINGS, field
from policy.facts.reader import FactReader, hashable

__all__ = ["Shape", "shape_of"]


class Shape:
    """`read` gives the facts at `paths` of a document of this shape, hashable, and None for any other document.

    `example` is a document of the shape: all other facts are as in it.
    """

    __slots__ = ("example", "paths", "read")

    def __init__(
        self, paths: tuple[str, ...], read: Callable[[Any], tuple[Any, ...] | None], example: Facts
    ) -> None:
        self.paths = paths
        self.read = read
        self.example = example


def shape_of(facts: Facts, reader: FactReader) -> Shape | None:
    """The shape of a document for what `reader` asks; None where facts are unknown, or lie too deep."""
    document = facts.document
    if document.get("unknown"):
        return None
    maker = _Maker(reader, list(document))
    for number, (head, value) in enumerate(document.items()):
        if not maker.add(f"h{number}", head, value):
            return None
    return Shape(tuple(maker.paths), maker.function(), facts)


class _Maker:
    """Writes the source of `read`. Keys of documents never become source: they are objects that it refers to."""

    def __init__(self, reader: FactReader, heads: Sequence[str]) -> None:
        self.reader = reader
        self.paths: list[str] = []
        self._lines = [f"if len(d) != {len(heads)}: return None"]
        self._results: list[str] = []
        self._objects: dict[str, Any] = {"hashable": hashable}
        self._read("d", "d", heads, [f"h{number}" for number in range(len(heads))])

    def add(self, here: str, head: str, value: Any) -> bool:
        """Checks the top-level entry in the variable `here`; False where its facts cannot be taken so simply."""
        if not self.reader.asked(head):
            return True
        if value.__class__ is not dict:
            self._lines.append(
                f"if {here}.__class__ is dict or ({here} is None) is not {value is None}: return None"
            )
            return self._take(here, head, value)
        names = (
            [n for n in value if self.reader.asked(f"{head}.{n}")] if head in OPEN_MAPPINGS else list(value)
        )
        if len(names) < len(value):
            return (
                False  # names of the operator's own that do not matter: they would have to be looked through
            )
        self._lines.append(f"if {here}.__class__ is not dict or len({here}) != {len(names)}: return None")
        variables = [f"{here}_{number}" for number in range(len(names))]
        self._read(here, here, names, variables)
        return all(
            self._take(variable, f"{head}.{name}", value[name])
            for variable, name in zip(variables, names, strict=True)
        )

    def _read(self, mapping: str, prefix: str, names: Sequence[str], variables: Sequence[str]) -> None:
        """The line that takes the entries `names` of a mapping, and raises `KeyError` where one is missing."""
        if len(names) == 1:
            self._objects[f"name_{prefix}"] = names[0]
            self._lines.append(f"{variables[0]} = {mapping}[name_{prefix}]")
        elif names:
            self._objects[f"get_{prefix}"] = itemgetter(*names)
            self._lines.append(f"{', '.join(variables)} = get_{prefix}({mapping})")

    def _take(self, variable: str, path: str, value: Any) -> bool:
        if not self.reader.asked(path) or (value is None and "." not in path):
            return True
        if not self.reader.taken(path):
            return False
        known = field(path)
        types = set(known.types) if known else set()
        if "boolean" in types and types & {"integer", "number"}:
            return False  # 1 == True
        self.paths.append(path)
        self._results.append(_one_name(variable) if "array" in types else variable)
        return True

    def function(self) -> Callable[[Any], tuple[Any, ...] | None]:
        body = "".join(f"        {line}\n" for line in self._lines)
        results = "".join(f"{text}, " for text in self._results)
        source = f"def read(d):\n    try:\n{body}        return ({results})\n    except KeyError:\n        return None\n"
        exec(source, self._objects)  # noqa: S102  (made of counts and variable names of our own)
        made: Callable[[Any], tuple[Any, ...] | None] = self._objects["read"]
        return made


def _one_name(variable: str) -> str:
    """`hashable` of a list, at once where it is a list of one text: the usual case of architectures."""
    usual = f"{variable}.__class__ is list and len({variable}) == 1 and {variable}[0].__class__ is str"
    return f"({variable}[0],) if {usual} else hashable({variable})"
