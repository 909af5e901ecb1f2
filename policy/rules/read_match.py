"""Reads the match of a rule from a document: short names, types and version specifiers are checked here."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from policy.document.diagnostic import Diagnostic
from policy.document.schema import belongs_to_secret, raw_scalar
from policy.document.source import Document
from policy.facts.fields import Field, expand, field, suggest
from policy.rules.match import (
    All,
    Any_,
    Compare,
    Differs,
    Equal,
    Exists,
    Glob,
    Leaf,
    Match,
    Not,
    Release,
    Scalar,
    Test,
    is_glob,
)
from policy.secret import HIDDEN

__all__ = ["MatchReader"]

# Plain conditions that were read before: in a large set most of them stand there many times.
_READ: dict[tuple[str, type, Any], Leaf] = {}
MOST_KEPT = 20_000
_JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


class MatchReader:
    """Turns the mappings under `match:` into trees. Findings are collected, not raised.

    `derived` adds paths that only a catalog may use (what the resolver works out before it asks).
    """

    def __init__(self, document: Document, derived: Mapping[str, Field] | None = None) -> None:
        self.document = document
        self.derived = derived or {}
        self._findings: dict[Diagnostic, None] = {}  # an aliased mistake is one mistake

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        return tuple(self._findings)

    def read(self, data: Mapping[str, Any], path: Sequence[str | int]) -> Match:
        """The tree of the mapping `data` that stands at `path` in the document."""
        return All(tuple(self._terms(data, path)))

    def _terms(self, data: Mapping[str, Any], path: Sequence[str | int]) -> Iterator[Match]:
        for key, value in data.items():
            if value.__class__ in _JSON_TYPES and not self.derived:
                known = _READ.get((key, value.__class__, value))
                if known is not None:
                    yield known
                    continue
            at = [*path, key]
            if key == "any":
                yield Any_(tuple(self.read(item, [*at, i]) for i, item in enumerate(value)))
            elif key == "all":
                yield All(tuple(self.read(item, [*at, i]) for i, item in enumerate(value)))
            elif key == "not":
                yield Not(self.read(value, at))
            else:
                leaf = self._leaf(key, value, at)
                if leaf is not None:
                    yield leaf

    def _leaf(self, key: str, value: Any, at: Sequence[str | int]) -> Match | None:
        leaf = self._anew(key, value, at)
        plain = type(value) in _JSON_TYPES and not self.derived
        if plain and isinstance(leaf, Leaf) and len(_READ) < MOST_KEPT:
            _READ[key, type(value), value] = leaf
        return leaf

    def _anew(self, key: str, value: Any, at: Sequence[str | int]) -> Match | None:
        path = expand(key)
        known = self.derived.get(path) or field(path)
        if known is None:
            self._find(at, "unknown-fact", f"unknown fact `{key}`", suggest(key), key=True)
            return None
        if path == "unknown":
            self._find(at, "unknown-fact", "`unknown` cannot be matched", key=True)
            return None
        if path == "vllm" or path.startswith("packages."):
            return self._version_leaf(path, value, at)
        if isinstance(value, Mapping):
            return self._operators(known, value, at)
        values = value if isinstance(value, list) else [value]
        tests = [
            t
            for i, v in enumerate(values)
            if (t := self._test(known, v, [*at, i] if values is value else at))
        ]
        return Leaf(path, tuple(tests)) if tests else None

    def _version_leaf(self, path: str, value: Any, at: Sequence[str | int]) -> Match | None:
        if isinstance(value, Mapping):
            if set(value) == {"exists"}:
                return Leaf(path, (Exists(value["exists"]),))
            self._find(
                at,
                "wrong-operator",
                f"`{path}` is matched with a PEP 440 specifier",
                'such as ">=0.23,<0.25"',
            )
            return None
        tests: list[Test] = []
        for i, text in enumerate(value if isinstance(value, list) else [value]):
            place = [*at, i] if isinstance(value, list) else at
            if not isinstance(text, str):
                self._find(
                    place,
                    "wrong-type",
                    f"the release `{self._raw(place)}` is a number, not a string",
                    self._quote(place),
                )
            elif (specifier := _specifier(text)) is None:
                help_ = 'such as ">=0.23,<0.25" or "0.23.0"'
                self._find(place, "invalid-specifier", f"`{text}` is not a PEP 440 version specifier", help_)
            else:
                tests.append(Release(specifier))
        return Leaf(path, tuple(tests)) if tests else None

    def _operators(self, known: Field, value: Mapping[str, Any], at: Sequence[str | int]) -> Match:
        terms: list[Match] = []
        for operator, operand in value.items():
            if operator == "exists":
                terms.append(Leaf(known.path, (Exists(operand),)))
            elif operator == "ne":
                if self._test(known, operand, [*at, operator]):
                    terms.append(Leaf(known.path, (Differs(operand),)))
            elif {"integer", "number"} & set(known.types):
                terms.append(Leaf(known.path, (Compare(operator, operand),)))
            else:
                message = f"`{operator}` compares numbers, and `{known.path}` is not a number"
                self._find([*at, operator], "wrong-operator", message, key=True)
        return terms[0] if len(terms) == 1 else All(tuple(terms))

    def _test(self, known: Field, value: Scalar, at: Sequence[str | int]) -> Test | None:
        kind = _JSON_TYPES[type(value)]
        accepted = set(known.types)
        if "array" in accepted:
            accepted |= {"string", "integer", "number", "boolean"}  # an element of the list
        if accepted in ({"object"}, {"object", "null"}):
            message = f"`{known.path}` is a config object, not a value"
            self._find(
                at, "wrong-type", message, "ask whether it is on with `{exists: true}`, or name a field of it"
            )
            return None
        if kind not in accepted and not (kind == "integer" and "number" in accepted):
            wanted = ", ".join(sorted(accepted - {"null", "array", "object"}))
            help_ = self._quote(at) if "string" in accepted else ""
            if {"integer", "number"} & accepted and isinstance(value, str):
                help_ = "numbers are compared with `{ge: 4}`, `gt`, `le`, `lt`"
            self._find(at, "wrong-type", f"`{known.path}` takes {wanted}, not `{self._raw(at)}`", help_)
            return None
        if is_glob(value):
            return Glob(value)
        if known.enum and value not in known.enum:
            options = ", ".join(f"`{o}`" for o in known.enum if o is not None)
            self._find(at, "wrong-value", f"`{known.path}` is never `{value}`", f"one of {options}")
            return None
        return Equal(value)

    def _raw(self, at: Sequence[str | int]) -> str:
        return HIDDEN if belongs_to_secret(at) else raw_scalar(self.document, at)

    def _quote(self, at: Sequence[str | int]) -> str:
        return "quote it" if belongs_to_secret(at) else f'quote it: "{self._raw(at)}"'

    def _find(
        self, at: Sequence[str | int], code: str, message: str, help_: str = "", *, key: bool = False
    ) -> None:
        location = self.document.locate(at, key=key)
        self._findings[Diagnostic(location, code, message, help_)] = None


@functools.cache
def _specifier(text: str) -> str | None:
    """A specifier, or a bare release as one; None if it is neither."""
    candidate = text if text[:1] in "<>=!~" else f"=={text}"
    try:
        SpecifierSet(candidate)
    except InvalidSpecifier:
        return None
    return candidate if text.strip() else None
