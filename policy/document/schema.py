"""Checks a document against a JSON Schema of `schemas/` and says what is wrong in the document's own words."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema_rs

from policy.document.diagnostic import Diagnostic, DocumentError, nearest
from policy.document.source import Document, plain_scalar
from policy.secret import HIDDEN, is_secret, shown_entry, shown_text

__all__ = ["API_VERSION", "SCHEMAS", "check", "load_schema", "mistakes", "raw_scalar", "schema_folder"]

API_VERSION = "runnerctl/v1"
SCHEMAS = (
    "policy",
    "policy-test",
    "facts",
    "decision",
    "compiled-policy",
    "engine-release",
    "upgrade",
    "test-report",
    "lint",
    "matrix",
    "diff",
    "parity",
)

# What else a file may be that is given where a document of another kind is wanted: what it is, and who reads it.
_OTHER_KINDS = {
    ("policy", "CompiledPolicy"): (
        "this is a compiled policy, and a policy is wanted",
        "the guard reads it: RUNNERCTL_COMPILED_POLICY",
    ),
    ("policy", "RunnerPolicyTest"): (
        "this is a test file, and a policy is wanted",
        "`runnerctl test` reads it; in a folder it is named `*_test.yaml`",
    ),
    ("policy-test", "RunnerPolicy"): (
        "this is a policy, and a test file is wanted",
        "only test files are named `*_test.yaml`; they have `kind: RunnerPolicyTest`",
    ),
}

# What the validator takes for an index.
_NUMBER = re.compile(r"\+?[0-9]+")

_TYPES = {
    "string": "a string",
    "boolean": "`true` or `false`",
    "integer": "an integer",
    "number": "a number",
    "array": "a list",
    "object": "a mapping",
    "null": "`null`",
}


def schema_folder() -> Path:
    """The folder of the schema files: inside the installed package, or `schemas/` of a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "schemas"
    return installed if installed.is_dir() else package.parent / "schemas"


@functools.cache
def load_schema(name: str) -> dict[str, Any]:
    """The parsed `NAME.schema.json`. Raises `KeyError` for a name that is not in `SCHEMAS`."""
    if name not in SCHEMAS:
        raise KeyError(name)
    schema: dict[str, Any] = json.loads((schema_folder() / f"{name}.schema.json").read_text("utf-8"))
    return schema


@functools.cache
def _validator(name: str) -> Any:
    return jsonschema_rs.validator_for(load_schema(name), validate_formats=True)


def check(document: Document, name: str) -> None:
    """Raise `DocumentError` with every place where `document` does not fit the schema `name`."""
    found = [diagnostic for _, diagnostic in mistakes(document, name)]
    if found:
        raise DocumentError(found)


def mistakes(document: Document, name: str) -> Iterator[tuple[Sequence[str | int], Diagnostic]]:
    """Every place where `document` does not fit the schema `name`: the path of the value, and what is wrong."""
    if not isinstance(document.data, Mapping):
        message = f"the document is {_said(document.data)}, not a mapping"
        help_ = "it begins with `apiVersion: runnerctl/v1`"
        yield (), Diagnostic(document.locate(()), "wrong-type", message, help_)
        return
    kind = document.data.get("kind")
    if isinstance(kind, str) and (name, kind) in _OTHER_KINDS:
        message, help_ = _OTHER_KINDS[name, kind]
        yield (), Diagnostic(document.locate(["kind"]), "wrong-kind", message, help_)
        return
    validator = _validator(name)
    if validator.is_valid(document.data):  # a tenth of what listing no errors costs
        return
    for error in validator.iter_errors(document.data):
        for path in _places(document.data, error):
            for diagnostic in _diagnostics(document, name, error, path):
                yield path, diagnostic


def _places(data: Any, error: Any) -> list[list[str | int]]:
    """Where an error is: of several paths that its steps may stand for, those with the value that it is about."""
    paths = list(_paths(data, list(error.instance_path)))
    if len(paths) == 1:
        return paths
    wrong = error.instance
    values = ((path, _value_at(data, path)) for path in paths)
    return [path for path, value in values if type(value) is type(wrong) and value == wrong] or paths


def _paths(data: Any, steps: Sequence[str | int]) -> Iterator[list[str | int]]:
    """The paths in `data` that a validator's steps may stand for: it takes every key of digits for a number.

    `1` and `01` are then the same step.
    """
    if not steps:
        yield []
        return
    step, rest = steps[0], steps[1:]
    if isinstance(data, Mapping) and isinstance(step, int):
        found: Iterable[str | int] = [key for key in data if _NUMBER.fullmatch(key) and int(key) == step]
    else:
        found = [step]
    for own in found:
        yield from ([own, *below] for below in _paths(data[own], rest))


def _diagnostics(
    document: Document, name: str, error: Any, path: Sequence[str | int]
) -> Iterator[Diagnostic]:
    kind = error.kind
    detail = kind.as_dict()
    here = document.locate(path)
    value = _value_at(document.data, path)
    field = _field(path)
    said = _said(value, path)
    match kind.name:
        case "additionalProperties":
            known = _known_properties(name, error.schema_path)
            for wrong in detail["unexpected"]:
                location = document.locate([*path, wrong], key=True)
                help_ = nearest(wrong, known) or "known here: " + ", ".join(f"`{k}`" for k in sorted(known))
                yield Diagnostic(location, "unknown-field", f"unknown field `{_named(wrong, path)}`", help_)
        case "required":
            missing = detail["property"]
            where = field if path and isinstance(path[-1], str) else "this mapping"
            yield Diagnostic(
                here, "missing-field", f"{where} has no `{missing}`" if path else f"no `{missing}`"
            )
        case "type":
            yield _wrong_type(document, path, value, detail["types"])
        case "const":
            expected = detail["expected_value"]
            key = str(path[-1]) if path else ""
            code = "unknown-api-version" if key == "apiVersion" else "wrong-value"
            yield Diagnostic(here, code, f"{field} is {said}, not `{expected}`", f"write `{key}: {expected}`")
        case "enum":
            options = [str(o) for o in detail["options"]]
            help_ = nearest(str(value), options) or "one of " + ", ".join(f"`{o}`" for o in options)
            yield Diagnostic(here, "wrong-value", f"{field} cannot be {said}", help_)
        case "format":
            help_ = "a date is written YYYY-MM-DD" if detail["format"] == "date" else ""
            yield Diagnostic(here, "wrong-value", f"{field} is {said}, not a {detail['format']}", help_)
        case "pattern":
            help_ = str(_subschema(name, error.schema_path[:-1]).get("description", ""))
            yield Diagnostic(here, "wrong-value", f"{field} cannot be {said}", help_)
        case "propertyNames":
            # The name, not the value, is wrong: the nested error says how.
            wrong = str(detail["error"].instance)
            location = document.locate([*path, wrong], key=True)
            yield Diagnostic(
                location,
                "wrong-name",
                f"`{_named(wrong, path)}` cannot be a name here",
                "letters, digits and `_`",
            )
        case "minItems" | "minProperties" | "minLength":
            yield Diagnostic(here, "empty-value", f"{field} is empty")
        case _:
            message = (
                "it cannot have this value" if belongs_to_secret(path) else shown_text(error.message[:200])
            )
            yield Diagnostic(here, "wrong-value", f"{field}: {message[:1].lower()}{message[1:]}")


def _wrong_type(
    document: Document, path: Sequence[str | int], value: Any, types: Sequence[str]
) -> Diagnostic:
    wanted = " or ".join(_TYPES[t] for t in types)
    said = f"`{raw_scalar(document, path)}`" if isinstance(value, (int, float)) else _said(value, path)
    help_ = ""
    if "string" in types and isinstance(value, (int, float)):
        help_ = f'quote it: "{raw_scalar(document, path)}"'
        if belongs_to_secret(path):
            said, help_ = f"`{HIDDEN}`", "quote it"
    elif "array" in types and isinstance(value, str) and "string" not in types:
        help_ = f"a list is written `[{said.strip('`')}]`"
    elif value is None and "object" in types and "match" in path:
        help_ = "to ask whether it is off, write `{exists: false}`"
    return Diagnostic(document.locate(path), "wrong-type", f"{_field(path)} is {said}, not {wanted}", help_)


def _field(path: Sequence[str | int]) -> str:
    """What a message calls the value at `path`: by its key, or by that of its list."""
    name = next((step for step in reversed(path) if isinstance(step, str)), None)
    if name is None:
        return "the document"
    said = f"`{shown_entry(name)}`"
    return said if isinstance(path[-1], str) else f"an item of {said}"


def raw_scalar(document: Document, path: Sequence[str | int]) -> str:
    """The unquoted scalar at `path` as it stands in the file: 0.10 must not be echoed as 0.1.

    Where the text there is something else (an anchor, a value that was never text), the value itself.
    """
    value = _value_at(document.data, path)
    location = document.locate(path)
    lines = document.source.text.splitlines()
    rest = lines[location.line - 1][location.column - 1 :] if 0 < location.line <= len(lines) else ""
    word = re.split(r"[,\]}]|\s#|\s*$", rest, maxsplit=1)[0].strip()
    return word if word and plain_scalar(word) == value else json.dumps(value)


def belongs_to_secret(path: Sequence[str | int]) -> bool:
    """Whether the value at `path` belongs to a variable that looks like a secret."""
    return any(is_secret(step) for step in path if isinstance(step, str))


def _named(name: str, path: Sequence[str | int]) -> str:
    """A key of the mapping at `path` as it may be said."""
    return HIDDEN if belongs_to_secret(path) else shown_entry(name)


def _said(value: Any, path: Sequence[str | int] = ()) -> str:
    """A value as the user would say it, at the place `path`."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    within = shown_entry if "env" in path else shown_text  # of `env` a text is no mapping
    text = json.dumps(value) if not isinstance(value, str) else within(value)
    if text and belongs_to_secret(path):
        return f"`{HIDDEN}`"
    return f"`{text[:80]}`" if text else "empty"


def _value_at(data: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        data = data[step]
    return data


def _subschema(name: str, path: Sequence[str | int]) -> Mapping[str, Any]:
    """The schema at `path` of the schema `name`, following each `$ref` on the way."""
    node: Any = load_schema(name)
    for step in path:
        if step == "$ref":
            reference = str(node["$ref"]).removeprefix("#/")
            node = load_schema(name)
            for part in reference.split("/"):
                node = node[part]
        else:
            node = node[step]
    return node if isinstance(node, Mapping) else {}


def _known_properties(name: str, schema_path: Sequence[str | int]) -> list[str]:
    return list(_subschema(name, schema_path[:-1]).get("properties", {}))
