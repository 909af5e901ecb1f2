"""The values of `vllm serve` arguments: from text to the facts that they set, checked against the facts schema."""

from __future__ import annotations

import argparse
import difflib
import functools
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from policy.document.schema import load_schema
from policy.input_error import InputError

__all__ = ["Convert", "ServeArgumentError", "fit", "human_integer"]

_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SAID = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "a JSON object",
    "string": "text",
}
_TRUE, _FALSE = {"1", "on", "t", "true", "y", "yes"}, {"0", "f", "false", "n", "no", "off"}


class ServeArgumentError(InputError):
    """Arguments that the release's own `vllm serve` would refuse; the message says which and why."""


def human_integer(text: str) -> int:
    """An integer that may have a unit: `1k` is 1000, `1K` is 1024. Raises `ValueError`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgGtT])", text.strip())
    if found is None:
        return int(text)
    number, unit = found.groups()
    if unit in _BINARY:
        return int(number) * _BINARY[unit]
    many = float(number) * _DECIMAL[unit]
    if many == math.inf:
        raise ValueError(f"`{text}` is too large")
    return int(many)


class Convert:
    """Turns the text of one argument into its value, by the argument's entry in `serve_arguments.json`."""

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self._kind: str = entry.get("items", entry["kind"])
        self._choices: list[Any] | None = entry.get("choices")
        self._nullable: bool = entry.get("nullable", False)

    def __call__(self, text: str) -> Any:
        if self._nullable and text in {"", "None"}:
            return None
        read, wanted = _READERS.get(self._kind, (str, ""))
        try:
            value = read(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"cannot be `{text}`: it is not {wanted}") from None
        if self._choices is not None and value not in self._choices:
            raise argparse.ArgumentTypeError(f"cannot be `{text}`: it is not one of {_listed(self._choices)}")
        return value


def _human_integer_or_auto(text: str) -> int:
    return -1 if text.strip().lower() == "auto" else human_integer(text)


def _json_object_or_text(text: str) -> Any:
    return json.loads(text) if re.match(r"(?s)^\s*{.*}\s*$", text) else text


def _config_object(text: str) -> Any:
    """A JSON object, in which numbers outside strings may have units."""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    parts[::2] = [
        re.sub(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b", lambda found: str(human_integer(found.group())), part)
        for part in parts[::2]
    ]
    value = json.loads("".join(parts))
    if not isinstance(value, dict):
        raise ValueError(text)
    return value


_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "config": (_config_object, "a JSON object"),
    "folded-string": (lambda text: text.lower().replace("-", "_"), "text"),
    "human-integer": (human_integer, "an integer"),
    "human-integer-or-auto": (_human_integer_or_auto, "an integer or `auto`"),
    "integer": (int, "an integer"),
    "json": (json.loads, "JSON"),
    "json-or-string": (_json_object_or_text, "JSON"),
    "number": (float, "a number"),
    "string-or-none": (lambda text: "" if text.lower() == "none" else text, "text"),
}


def fit(value: Any, path: str, flag: str, version: Version, numbered: Mapping[str, Mapping[str, str]]) -> Any:
    """The value of a fact in the schema's own type, with enum members by name.

    Accepts what vLLM's config classes accept for it: `"3"` and `3.0` for an integer, `true` as text, the number
    of an enum member (`numbered` names those). Raises `ServeArgumentError`, naming `flag` and the path.
    """
    return _Fit(flag, version, numbered).fit(value, _schema(path), path)


@functools.cache
def _schema(path: str) -> dict[str, Any]:
    schema = load_schema("facts")
    for part in path.split("."):
        schema = schema["properties"][part]
    return schema


class _Fit:
    def __init__(self, flag: str, version: Version, numbered: Mapping[str, Mapping[str, str]]) -> None:
        self._flag = flag
        self._version = version
        self._numbered = numbered

    def fit(self, value: Any, schema: Mapping[str, Any], path: str) -> Any:
        types = schema.get("type", [])
        types = [types] if isinstance(types, str) else types
        if isinstance(value, dict) and "properties" in schema:
            return {name: self._member(name, inner, schema, path) for name, inner in value.items()}
        # One of a few values is never converted, as text for a number may be elsewhere.
        value = self._enum_name(value, schema, path) if "enum" in schema else _lax(value, types)
        if types and _type(value) not in types and not ("number" in types and _type(value) == "integer"):
            wanted = " or ".join(_SAID[kind] for kind in types if kind != "null" or len(types) == 1)
            raise ServeArgumentError(
                f"`{self._flag}`: `{path}` cannot be `{_shown(value)}`: it is not {wanted}"
            )
        if "enum" in schema and value not in schema["enum"]:
            choices = _listed([choice for choice in schema["enum"] if choice is not None])
            raise ServeArgumentError(
                f"`{self._flag}`: `{path}` cannot be `{_shown(value)}`: it is not one of {choices}"
            )
        if isinstance(value, list) and "items" in schema:
            return [self.fit(item, schema["items"], path) for item in value]
        return value

    def _member(self, name: str, value: Any, schema: Mapping[str, Any], path: str) -> Any:
        known = schema["properties"]
        held = [field for field, inner in known.items() if self._has(inner)]
        if name not in held:
            near = difflib.get_close_matches(name, held, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise ServeArgumentError(
                f"`{self._flag}`: `{path}` has no `{name}` in vLLM {self._version}{hint}"
            )
        return self.fit(value, known[name], f"{path}.{name}")

    def _has(self, schema: Mapping[str, Any]) -> bool:
        period = schema.get("x-vllm")
        return period is None or SpecifierSet(period).contains(self._version, prereleases=True)

    def _enum_name(self, value: Any, schema: Mapping[str, Any], path: str) -> Any:
        """The name of an enum member that is given by number, or in another case than its own."""
        numbers = self._numbered.get(path, {})
        if not isinstance(value, bool) and str(value) in numbers:
            return numbers[str(value)]
        if (
            isinstance(value, str)
            and value not in schema.get("enum", [])
            and value.upper() in schema.get("enum", [])
        ):
            return value.upper()
        return value


def _lax(value: Any, types: list[str]) -> Any:
    """The value in one of the wanted types, where vLLM's config classes would convert it without loss."""
    if _type(value) in types:
        return value
    text = str(value).lower() if isinstance(value, str | int | float) else ""
    if "integer" in types and re.fullmatch(r"[+-]?\d+(\.0*)?", text):
        return int(text.partition(".")[0])
    if "number" in types and isinstance(value, str):
        try:
            return float(text)
        except ValueError:
            return value
    if "boolean" in types and text in _TRUE | _FALSE:
        return text in _TRUE
    return value


def _type(value: Any) -> str:
    kinds = {bool: "boolean", dict: "object", float: "number", int: "integer", list: "array", str: "string"}
    return kinds.get(type(value), "null")


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _listed(choices: list[Any]) -> str:
    return ", ".join(f"`{choice}`" for choice in choices)
