"""Gathers the facts of a command on this machine: its arguments, the model's files, the installation, the host."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policy.document.schema import load_schema
from policy.engine import Catalog, EngineRelease
from policy.facts.facts import merge_facts
from policy.facts.installation import Installation, interpreter_of, read_installation
from policy.facts.machine import read_machine
from policy.facts.reading import Reading
from policy.facts.serve_arguments import read_serve_arguments
from policy.facts.served_model import read_served_draft, read_served_model
from runnerctl.launch.command import EngineCommand

__all__ = ["Gathered", "gather", "installation_of"]

# A config that only the process itself will build.
UNSEEN = "the command is not a plain `vllm serve`, so only the process itself will know"


@dataclass(frozen=True, slots=True)
class Gathered:
    """A facts document, and why each of its unknown facts is unknown."""

    document: dict[str, Any]
    reasons: Mapping[str, str]


def installation_of(command: EngineCommand, env: Mapping[str, str]) -> Installation:
    """The installation that the command will run in; this process's own where the command does not tell."""
    return read_installation(interpreter_of(command.argv, env) or Path(sys.executable), env)


def gather(
    command: EngineCommand,
    env: Mapping[str, str],
    release: str,
    catalog: Catalog,
    *,
    installation: Installation | None,
    given: Sequence[Reading] = (),
    online: bool,
) -> Gathered:
    """The facts of `command` under `release`. `given` are the operator's own, which win.

    With an `installation` the machine is read too; without one the question is about another machine. `online`
    says whether the hub may be asked for a model. Raises `ServeArgumentError` and `ModelFileError`.
    """
    # An engine always has a model: what may be unknown is what it is, not whether there is one.
    readings = [Reading({"vllm": release, "env": dict(env), "model_config": {}})]
    if installation is not None:
        readings.append(read_machine(installation, env))
    if command.serve_arguments is None:
        readings.append(Reading({}, dict.fromkeys(_unseen(), UNSEEN)))
    else:
        readings.extend(_server(command.serve_arguments, env, release, catalog, online=online))
    document, reasons = merge_facts([*readings, *given])
    return Gathered(document, reasons)


def _unseen() -> list[str]:
    """What only the process will know: every config object, and every field of the one that is certainly there."""
    properties = load_schema("facts")["properties"]
    objects = [name for name, node in properties.items() if "object" in node.get("type", ())]
    fields = [f"model_config.{name}" for name in properties["model_config"]["properties"]]
    return [
        *(n for n in objects if n.endswith("_config") and n != "model_config"),
        *fields,
        "is_mm_encoder_only",
    ]


def _server(
    arguments: Sequence[str], env: Mapping[str, str], release: str, catalog: Catalog, *, online: bool
) -> Sequence[Reading]:
    """The arguments first, then what the model's files say under them."""
    reading = read_serve_arguments(arguments, release, lambda name: Path(name).read_text("utf-8"))
    found = catalog.find(release)
    names = catalog.names(found.release) if isinstance(found, EngineRelease) else None
    architectures = names["architectures"] if names else None
    return [
        read_served_model(reading.facts, env, architectures, release, online=online),
        read_served_draft(reading.facts, env, online=online),
        reading,
    ]
