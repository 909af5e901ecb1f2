"""What kind of command is launched: a vLLM server whose arguments say everything, or anything else."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["EngineCommand", "read_command"]

SERVER_MODULES = ("vllm.entrypoints.openai.api_server",)
PYTHON = re.compile(r"(?:python|pypy)[0-9.]*\Z")
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class EngineCommand:
    """`argv` is what runs. `serve_arguments` follow `vllm serve`; None for a command that says less.

    `prefix` are the assignments of a leading `env NAME=VALUE`, taken off `argv`: left there they would come
    after everything that the launch sets.
    """

    argv: tuple[str, ...]
    serve_arguments: tuple[str, ...] | None
    prefix: dict[str, str] = field(default_factory=dict)


def read_command(words: Sequence[str]) -> EngineCommand:
    """Read a command line of at least one word."""
    argv, prefix = _without_env(list(words))
    return EngineCommand(tuple(argv), _serve_arguments(argv), prefix)


def _without_env(argv: list[str]) -> tuple[list[str], dict[str, str]]:
    """Take a leading `env A=1 B=2` off; one with options stays, since it may unset or split as it likes."""
    if os.path.basename(argv[0]) != "env":  # noqa: PTH119  (a word of a command, not a path of ours)
        return argv, {}
    prefix: dict[str, str] = {}
    for i, word in enumerate(argv[1:], 1):
        assignment = ASSIGNMENT.match(word)
        if assignment:
            prefix[assignment[1]] = assignment[2]
        elif word.startswith("-"):
            return argv, {}
        else:
            return argv[i:], prefix
    return argv, {}


def _serve_arguments(argv: Sequence[str]) -> tuple[str, ...] | None:
    program = os.path.basename(argv[0])  # noqa: PTH119
    if program == "vllm" and argv[1:2] == ["serve"]:
        return tuple(argv[2:])
    if not PYTHON.match(program):
        return None
    words = list(argv[1:])
    while words and words[0].startswith("-") and words[0] != "-m":
        if words[0] in ("-c", "-W", "-X"):
            return None
        words.pop(0)
    if words[:1] == ["-m"] and words[1:2] and words[1] in SERVER_MODULES:
        return tuple(words[2:])
    if words and os.path.basename(words[0]) == "vllm" and words[1:2] == ["serve"]:  # noqa: PTH119
        return tuple(words[2:])
    return None
