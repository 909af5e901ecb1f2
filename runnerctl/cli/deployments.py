"""Reads deployments by name: facts files, JSON lines, `--set`. Lines are read as they are asked for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policy.facts.facts import merge_facts
from policy.facts.fields import SHORT_NAMES
from policy.facts.reading import Reading
from runnerctl.cli.inputs import read_facts_file, read_settings
from runnerctl.cli.lines import read_lines

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


def _paths(prefix: str, node: Mapping[str, Any]) -> Iterator[str]:
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


def _label(facts: Mapping[str, Any]) -> str | None:
    labels = facts.get("labels")
    name = labels.get("name") if isinstance(labels, dict) else None
    return name if isinstance(name, str) and name else None


def _lines(name: str, over: Reading) -> Iterator[Deployment | BadDeployment]:
    for line in read_lines(name):
        given = line.id if isinstance(line.id, str) or line.id is None else json.dumps(line.id)
        name_ = given or f"line {line.number}"
        if line.facts is None:
            yield BadDeployment(name_, line.problem or "")
        else:
            yield Deployment(given or _label(line.facts) or name_, _merged(Reading(line.facts), over))
