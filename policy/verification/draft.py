"""Drafts the file of a release that the catalog does not describe. A draft says what a person must look at, and cannot
be loaded until somebody has: its `todo` is a field that the catalog refuses."""

from __future__ import annotations

import ast
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from policy.engine.differences import Difference
from policy.engine.release import RUNNERS, EngineRelease, Runner
from policy.engine.source.deciding import DecidingCode
from policy.input_error import InputError, reason_of
from policy.verification.changes import Changes

__all__ = ["draft", "write_draft"]

# The methods that collect what a runner does not support. The second two speak of V2.
COLLECTORS: dict[Runner, tuple[str, ...]] = {
    "v1": ("_get_v1_model_runner_unsupported_features",),
    "v2": (
        "_get_v2_model_runner_unsupported_features",
        "_get_dbo_unsupported_features",
        "_validate_v2_model_runner",
    ),
}
DEFAULT_SET = "DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES"


def draft(release: str, base: EngineRelease, code: DecidingCode, changes: Changes, source: str) -> str:
    """The text of `releases/<release>.yaml` as far as it can be read off the source without understanding it."""
    lines = [
        f"# Drafted from {' '.join(source.split())}, against vLLM {base.release}. Not finished: read the functions that changed, write",
        "# what they do as rules, run `runnerctl catalog verify --samples`, then delete `todo` and these comments.",
        "apiVersion: runnerctl/v1",
        "kind: EngineRelease",
        f"release: {json.dumps(release)}",
        f"base: {json.dumps(base.release)}",
        f"todo: {json.dumps(_todo(changes))}",
    ]
    lines += [f"# TODO function {line}" for line in _changed(changes.functions)]
    lines += list(_architecture_lines(base, code))
    for runner in RUNNERS:
        lines += list(_feature_lines(base, code, runner))
    for what, names in (
        ("architectures", changes.architectures),
        ("environment variables", changes.variables),
    ):
        if names:
            lines.append(
                f"# {what}: {len(names.added)} added, {len(names.dropped)} dropped, {len(names.changed)} changed: "
                "tools/extract_names.py writes them"
            )
    return "\n".join(lines) + "\n"


def write_draft(path: Path, text: str) -> None:
    """Write beside `path`, then give it its name. Raises `InputError` when the file is there or cannot be written."""
    beside: str | None = None
    try:
        descriptor, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        Path(beside).chmod(0o666 & ~umask)
        os.link(beside, path)  # unlike a rename, this never replaces a file
    except FileExistsError as error:
        raise InputError(f"{path}: is there already; a draft never overwrites") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {reason_of(error)}") from error
    finally:
        if beside is not None:
            Path(beside).unlink(missing_ok=True)


def _todo(changes: Changes) -> str:
    if not changes.functions:
        return "no function that decides has changed; confirm that the facts they read still mean the same"
    return "turn what changed into rules: the catalog does not know what this release does"


def _changed(functions: Difference) -> Iterator[str]:
    yield from (f"{name}: changed" for name in functions.changed)
    yield from (f"{name}: new" for name in functions.added)
    yield from (f"{name}: gone" for name in functions.dropped)


def _architecture_lines(base: EngineRelease, code: DecidingCode) -> Iterator[str]:
    listed = set(base.default_v2_architectures or {})
    named = set(_listed_architectures(code))
    if named == listed:
        return
    if not named:
        yield f"# TODO {DEFAULT_SET} is gone or is no plain set"
        return
    yield "# TODO default_v2_architectures:"
    yield from (f"#   {name}: {{}}" for name in sorted(named - listed))
    yield from (f"#   {name}: null" for name in sorted(listed - named))


def _listed_architectures(code: DecidingCode) -> Iterator[str]:
    statement = code.module.get(DEFAULT_SET)
    for node in ast.walk(statement) if statement is not None else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _feature_lines(base: EngineRelease, code: DecidingCode, runner: Runner) -> Iterator[str]:
    known = {_pattern(gap.feature): gap.id for gap in base.unsupported[runner] if gap.feature}
    named = dict.fromkeys(feature for name in COLLECTORS[runner] for feature in _features(code, name))
    new = [feature for feature in named if feature not in known]
    gone = [name for feature, name in known.items() if feature not in named]
    if new or gone:
        yield f"# TODO unsupported.{runner}:"
    for feature in new:
        yield f"#   {re.sub(r'[^a-z0-9]+', '-', feature.lower()).strip('-')}:"
        yield f"#     feature: {json.dumps(feature)}"
        yield "#     match: {}  # TODO when"
    yield from (f"#   {name}: null" for name in gone)


def _features(code: DecidingCode, method: str) -> Iterator[str]:
    """The words that a method appends to or returns in its list of unsupported features."""
    for node in ast.walk(code.methods[method]) if method in code.methods else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            yield from (_words(argument) for argument in node.args)
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.List):
            yield from (_words(element) for element in node.value.elts)


def _words(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else "{}"


def _pattern(feature: str | None) -> str:
    return re.sub(r"\{[^}]*\}", "{}", feature or "")
