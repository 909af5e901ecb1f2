"""The names, types and defaults of facts, as `schemas/facts.schema.json` gives them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from policy.document.diagnostic import nearest
from policy.document.schema import load_schema

__all__ = ["NO_DEFAULT", "SHORT_NAMES", "SWITCH", "Field", "expand", "field", "field_paths", "suggest"]

SWITCH = "VLLM_USE_V2_MODEL_RUNNER"

# What policies and facts may write for short, and the path that it stands for.
SHORT_NAMES = {"architectures": "model_config.architectures"}
# Mappings whose keys are the operator's own.
OPEN_MAPPINGS = ("env", "labels", "packages")


class _NoDefault:
    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT = _NoDefault()


class Field(NamedTuple):
    """One fact. `default` is `NO_DEFAULT` where vLLM computes it, or where releases differ."""

    path: str
    types: tuple[str, ...]
    default: Any = NO_DEFAULT
    enum: tuple[Any, ...] = ()

    @property
    def is_object(self) -> bool:
        return "object" in self.types


def expand(path: str) -> str:
    """The full path of a short name; any other path as it is."""
    return SHORT_NAMES.get(path, path)


@functools.cache
def field(path: str) -> Field | None:
    """The field at a full dotted path, or None if no release of vLLM has it.

    `env.NAME`, `labels.NAME` and `packages.NAME` are fields whatever NAME is, also with dots in it.
    """
    head, _, rest = path.partition(".")
    if head in OPEN_MAPPINGS and path != head:
        return None if not rest else Field(path, ("string", "null"), None)
    node: Mapping[str, Any] | None = load_schema("facts")
    for step in path.split("."):
        if node is None:
            return None
        properties = node.get("properties", {})
        if step in properties:
            node = properties[step]
        elif node.get("additionalProperties", True) is False or "object" not in _types(node):
            return None
        else:
            node = {}  # inside a free-form object: anything may be there, and nothing is by default
            return Field(path, ("string", "number", "boolean", "array", "object", "null"), None)
    return None if node is None else _field(path, node)


def _types(node: Mapping[str, Any]) -> tuple[str, ...]:
    declared = node.get("type", ())
    return (declared,) if isinstance(declared, str) else tuple(declared)


def _field(path: str, node: Mapping[str, Any]) -> Field:
    types = _types(node)
    if "default" in node:
        default = node["default"]
    elif types == ("object",):
        default = {}  # a config object that vLLM always builds
    else:
        default = NO_DEFAULT
    return Field(path, types, default, tuple(node.get("enum", ())))


@functools.cache
def field_paths() -> tuple[str, ...]:
    """Every full path that the schema names, sorted."""
    return tuple(sorted(_walk("", load_schema("facts"))))


def _walk(prefix: str, node: Mapping[str, Any]) -> Iterator[str]:
    for name, child in node.get("properties", {}).items():
        path = f"{prefix}.{name}" if prefix else name
        yield path
        yield from _walk(path, child)


@functools.cache
def suggest(path: str) -> str:
    """A help text with the nearest right names for a wrong path."""
    paths = field_paths()
    last = path.rpartition(".")[2]
    same_name = [p for p in paths if p.rpartition(".")[2] == last]
    if same_name:
        return "did you mean " + " or ".join(f"`{p}`" for p in same_name[:3]) + "?"
    return (
        nearest(path, [*paths, *SHORT_NAMES])
        or "the names are vLLM's own: `parallel_config.tensor_parallel_size`"
    )
