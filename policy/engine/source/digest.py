"""One digest for each piece of deciding code: equal code gives equal digests under every Python.

Hashed is a normal form of our own and not `ast.unparse` or `ast.dump`, whose text changes between Python versions.
Comments, layout, docstrings, annotations and log calls decide nothing and are left out.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from policy.engine.source.deciding import DecidingCode, says_only

__all__ = ["DIGESTS", "digests", "known_digests"]

DIGESTS = "source_digests.json"
IGNORED_FIELDS = frozenset(
    {"ctx", "kind", "type_comment", "type_params", "annotation", "returns", "simple", "type_ignores"}
)


def digests(code: DecidingCode) -> dict[str, str]:
    """The sha256 of each part of `code`, by the part's name."""
    return {name: _digest(nodes) for name, nodes in code.parts().items()}


def known_digests(catalog: Path) -> Mapping[str, Mapping[str, str]]:
    """Release -> part -> digest, as `tools/extract_digests.py` wrote them into the folder of a catalog."""
    return _load(catalog / DIGESTS)


@functools.cache
def _load(path: Path) -> Mapping[str, Mapping[str, str]]:
    if not path.is_file():
        return {}
    found: dict[str, dict[str, str]] = json.loads(path.read_text("utf-8"))
    return found


def _digest(nodes: tuple[ast.AST, ...]) -> str:
    text = "\n".join(normal_form(node) for node in nodes)
    return hashlib.sha256(text.encode()).hexdigest()


def normal_form(value: Any) -> str:
    """A syntax tree as text that has everything that it does, and nothing else."""
    if isinstance(value, ast.AnnAssign) and value.value is not None:
        return normal_form(ast.Assign([value.target], value.value))
    if isinstance(value, ast.AST):
        fields = (
            f"{name}={normal_form(child)}"
            for name, child in _fields(value)
            if name not in IGNORED_FIELDS and child not in (None, [])
        )
        return f"{type(value).__name__}({', '.join(fields)})"
    if isinstance(value, list):
        return f"[{', '.join(normal_form(child) for child in value)}]"
    return repr(value)


def _fields(node: ast.AST) -> Iterator[tuple[str, Any]]:
    for name, child in ast.iter_fields(node):
        if name == "body" and isinstance(child, list):
            yield name, [statement for statement in child if not says_only(statement)]
        else:
            yield name, [None] if isinstance(node, ast.Constant) and child is None else child
