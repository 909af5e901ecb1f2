"""The operator's environment: the inherited process, `--env-file` and `--env`, each over the one before."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from dotenv.parser import parse_stream

from policy.decision.resolve import Layers
from policy.input_error import InputError, reason_of
from runnerctl.launch.command import EngineCommand

__all__ = ["LayerError", "merged", "operator_layers"]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class LayerError(InputError):
    """An environment file or option that cannot be read; the message says where and what would be right."""


def operator_layers(
    process: Mapping[str, str], command: EngineCommand, files: Sequence[str], settings: Sequence[str]
) -> Layers:
    """The layers, (name, variables), weakest first. Raises `LayerError`.

    What a leading `env -u NAME` takes away is in none of those below it.
    """
    layers: list[tuple[str, Mapping[str, str]]] = [("process environment", dict(process))]
    layers.extend((f"--env-file {name}", _read_file(name)) for name in files)
    layers.append(("--env", dict(_setting(s) for s in settings)))
    layers = [(name, {n: v for n, v in layer.items() if n not in command.taken}) for name, layer in layers]
    if command.prefix:
        layers.append(("command prefix", dict(command.prefix)))
    for source, layer in layers:
        if wrong := [n for n, v in layer.items() if "\0" in v]:
            raise LayerError(f"{source}: `{wrong[0]}` holds a NUL character, which no environment can")
    return layers


def merged(layers: Layers) -> dict[str, str]:
    """What the operator's layers come to."""
    return {name: value for _, layer in layers for name, value in layer.items()}


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not NAME.match(name):
        shown_part = re.split(r"[=\s:]", text, maxsplit=1)[0]  # what follows may be a secret
        raise LayerError(f"--env {shown_part}: write --env NAME=VALUE")
    return name, value


def _read_file(name: str) -> dict[str, str]:
    try:
        with Path(name).open(encoding="utf-8-sig") as stream:
            bindings = list(parse_stream(stream))
    except OSError as error:
        raise LayerError(f"{name}: cannot be read: {reason_of(error)}") from error
    except UnicodeDecodeError as error:
        raise LayerError(f"{name}: the file is not UTF-8") from error
    variables: dict[str, str] = {}
    for binding in bindings:
        if binding.error or (binding.key is not None and binding.value is None):
            raise LayerError(
                f"{name}:{binding.original.line}:1: the line is not NAME=VALUE"
            )  # it may hold a secret
        if binding.key is not None and not NAME.match(binding.key):
            raise LayerError(
                f"{name}:{binding.original.line}:1: `{binding.key[:80]}` cannot be a variable's name"
            )
        if binding.key is not None and binding.value is not None:
            variables[binding.key] = binding.value
    return variables
