"""Changes of a match: each condition, operator and value, and how they are combined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from policy.facts.fields import OPEN_MAPPINGS, Field, expand, field
from policy.mutation.change import Change, dropped, inside, without
from policy.mutation.releases import changed_specifiers
from policy.rules.match import is_glob
from policy.secret import is_secret, shown_text

__all__ = ["match_changes"]

# Each comparison with its neighbour, the bound in or out, and the other side.
_OPERATORS = {"gt": ("ge", "lt"), "ge": ("gt", "lt"), "lt": ("le", "gt"), "le": ("lt", "gt")}
_COMBINED = {"any": "all", "all": "any"}


def match_changes(data: Mapping[str, Any]) -> Iterator[Change]:
    """Every change of a checked match. A changed match may be one that cannot be read; whoever applies it sees."""
    for key, value in data.items():
        yield Change((key,), f"`{key}` is taken away", without(data, key))
        if key in _COMBINED:
            yield from _combined(data, key, value)
        elif key == "not":
            if "all" not in data:
                yield Change((key,), "`not` is taken away", {**without(data, key), "all": [value]})
            yield from inside(data, key, match_changes(value))
        else:
            if "not" not in data:
                yield Change(
                    (key,),
                    f"`{key}` is turned into its opposite",
                    {**without(data, key), "not": {key: value}},
                )
            if key.partition(".")[0] in OPEN_MAPPINGS and f"{key}-other" not in data:
                renamed = {**without(data, key), f"{key}-other": value}
                yield Change((key,), f"`{key}` becomes `{key}-other`", renamed)
            yield from inside(data, key, _condition(expand(key), value))


def _combined(data: Mapping[str, Any], key: str, terms: Sequence[Mapping[str, Any]]) -> Iterator[Change]:
    other = _COMBINED[key]
    if len(terms) > 1 and other not in data:
        yield Change((key,), f"`{key}` becomes `{other}`", {**without(data, key), other: terms})
    yield from inside(data, key, dropped(terms))
    for i, term in enumerate(terms):
        nested = list(inside(terms, i, match_changes(term)))
        # A term that loses its only condition always holds: a change like any other.
        yield from inside(data, key, nested)


def _condition(path: str, value: Any) -> Iterator[Change]:
    hidden = is_secret(path)
    for change in _value_changes(path, value):
        said = "the value, hidden here, is changed" if hidden else shown_text(change.said)
        yield replace(change, said=said)


def _value_changes(path: str, value: Any) -> Iterator[Change]:
    known = field(path) or Field(path, ("string",))
    if isinstance(value, Mapping):
        yield from _operators(known, value)
    elif isinstance(value, list):
        yield from dropped(value)
        for i, item in enumerate(value):
            yield from inside(value, i, _value(known, item))
    else:
        yield from _value(known, value)


def _operators(known: Field, data: Mapping[str, Any]) -> Iterator[Change]:
    yield from dropped(data)
    for operator, operand in data.items():
        if operator == "exists":
            yield Change((operator,), "`exists` is flipped", {**data, operator: not operand})
            continue
        if operator == "ne" and len(data) == 1:
            yield Change((operator,), "`ne` becomes equality", operand)
        for other in _OPERATORS.get(operator, ()):
            if other not in data:
                changed = {**without(data, operator), other: operand}
                yield Change((operator,), f"`{operator}` becomes `{other}`", changed)
        yield from inside(data, operator, _value(known, operand))


def _value(known: Field, value: Any) -> Iterator[Change]:
    for other in _others(known, value):
        yield Change((), f"`{_said(value)}` becomes `{_said(other)}`", other)


def _others(known: Field, value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, (int, float)):
        yield value - 1
        yield value + 1
    elif known.path == "vllm" or known.path.startswith("packages."):
        yield from changed_specifiers(value)
    elif is_glob(value):
        yield from _globs(value)
    elif known.enum:
        yield from (option for option in known.enum if option not in (None, value))
    else:
        yield f"{value}-other"


def _globs(pattern: str) -> Iterator[str]:
    """A glob that has lost a wildcard, and one that has lost its text."""
    for i, letter in enumerate(pattern):
        if letter in "*?":
            yield pattern[:i] + pattern[i + 1 :]
    if pattern.strip("*?"):
        yield "".join(letter for letter in pattern if letter in "*?") + "-other"
        yield "*"


def _said(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
