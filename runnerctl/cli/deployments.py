"""Reads deployments by name: facts files, JSON lines, `--set`. Lines are read as they are asked for."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from policy.document.schema import check
from policy.document.source import Document
from policy.facts.facts import merge_facts, nest
from policy.facts.fields import SHORT_NAMES
from policy.facts.reading import Reading
from policy.input_error import InputError
from runnerctl.cli.exits import UsageError
from runnerctl.cli.inputs import read_facts_file, read_settings

__all__ = ["BadDeployment", "Deployment", "read_deployments"]

FIELDS = {"id", "vllm", "facts"}


@dataclass(frozen=True, slots=True)
class Deployment:
    name: str
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class BadDeployment:
    """A line that says nothing that can be used; the lines after it go on."""

    name: str
    message: str


def read_deployments(
    files: Sequence[str], batch: str | None, settings: Sequence[str]
) -> Iterator[Deployment | BadDeployment]:
    """Every deployment with the facts of `--set` over its own; `--set` alone is a deployment of its own.

    Raises `InputError` for a facts file that cannot be used, before any deployment is given.
    """
    over = read_settings(settings)
    named = [Deployment(name, _merged(read_facts_file(file), over)) for name, file in _names(files)]
    yield from named
    if batch is not None:
        yield from _lines(batch, over)
    elif not files:
        yield Deployment(_label(over.facts) or "deployment", dict(over.facts))


def _merged(own: Reading, over: Reading) -> dict[str, Any]:
    """The facts of `over` win; what they give is no longer unknown."""
    document, _ = merge_facts([own, over])
    if "unknown" in document:
        given = set(_paths("", over.facts))
        document["unknown"] = [p for p in document["unknown"] if SHORT_NAMES.get(p, p) not in given]
    return document


def _paths(prefix: str, node: dict[str, Any]) -> Iterator[str]:
    for key, value in node.items():
        path = f"{prefix}.{key}" if prefix else key
        yield path
        if isinstance(value, dict):
            yield from _paths(path, value)


def _names(files: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each file with the stem that names its deployment; files of one stem are named by their paths."""
    stems = {file: "stdin" if file == "-" else Path(file).stem for file in files}
    count = Counter(stems.values())
    for file, stem in stems.items():
        yield (stem if count[stem] == 1 else file), file


def _label(facts: dict[str, Any]) -> str | None:
    labels = facts.get("labels")
    name = labels.get("name") if isinstance(labels, dict) else None
    return name if isinstance(name, str) and name else None


def _lines(name: str, over: Reading) -> Iterator[Deployment | BadDeployment]:
    with _open(name) as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                yield _line(line, number, over)


def _open(name: str) -> IO[bytes]:
    if name == "-":
        return sys.stdin.buffer
    try:
        return open(name, "rb")  # noqa: PTH123  (the caller closes it)
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {(error.strerror or str(error)).lower()}") from error


def _line(line: bytes, number: int, over: Reading) -> Deployment | BadDeployment:
    name = f"line {number}"
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        return BadDeployment(name, f"line {number}: not JSON: {str(error).lower()}")
    if not isinstance(entry, dict):
        return BadDeployment(name, f"line {number}: not a JSON object")
    given = entry.get("id")
    if given is not None:
        name = given if isinstance(given, str) else json.dumps(given)
    if wrong := set(entry) - FIELDS:
        message = f"line {number}: unknown field `{min(wrong)}`; a line is {{id, vllm, facts}}"
        return BadDeployment(name, message)
    try:
        facts = _facts(entry)
    except InputError as error:
        return BadDeployment(name, f"line {number}: " + "; ".join(str(error).splitlines()))
    return Deployment(name if given is not None else _label(facts) or name, _merged(Reading(facts), over))


def _facts(entry: dict[str, Any]) -> dict[str, Any]:
    facts: Any = entry.get("facts", {})
    if not isinstance(facts, dict):
        raise UsageError("`facts` is not a mapping")
    if any("." in key or key in SHORT_NAMES for key in facts):
        facts = nest(facts)
    if "vllm" in entry:
        if not isinstance(entry["vllm"], str):
            raise UsageError(f"`vllm` is {json.dumps(entry['vllm'])}, not a string; quote it")
        facts = {**facts, "vllm": entry["vllm"]}
    check(Document.unmarked("facts", facts), "facts")
    return dict(facts)
