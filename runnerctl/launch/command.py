"""What kind of command is launched: a vLLM server whose arguments say everything, or anything else."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from policy.input_error import InputError

__all__ = ["CommandError", "EngineCommand", "read_command"]

SERVER_MODULES = ("vllm.entrypoints.openai.api_server",)
PYTHON = re.compile(r"(?:python|pypy)[0-9.]*\Z")
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)\Z", re.DOTALL)


class CommandError(InputError):
    """A command that would undo what the launch sets."""


@dataclass(frozen=True, slots=True)
class EngineCommand:
    """`argv` is what runs. `serve_arguments` follow `vllm serve`; None for a command that says less.

    A leading `env` is taken off `argv`: left there it would come after everything that the launch sets.
    `prefix` are its assignments, `taken` the names that its `-u` takes away.
    """

    argv: tuple[str, ...]
    serve_arguments: tuple[str, ...] | None
    prefix: dict[str, str] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()


def read_command(words: Sequence[str]) -> EngineCommand:
    """Read a command line of at least one word. Raises `CommandError`."""
    argv = list(words)
    prefix: dict[str, str] = {}
    taken: set[str] = set()
    while os.path.basename(argv[0]) == "env" and len(argv) > 1:  # noqa: PTH119  (a word, not a path of ours)
        argv = _without_env(argv[1:], prefix, taken)
    return EngineCommand(tuple(argv), _serve_arguments(argv), prefix, frozenset(taken))


def _without_env(words: list[str], prefix: dict[str, str], taken: set[str]) -> list[str]:
    """The command behind the arguments of `env`, whose effects go to `prefix` and `taken`."""
    while words:
        word = words.pop(0)
        assignment = ASSIGNMENT.match(word)
        if assignment:
            prefix[assignment[1]] = assignment[2]
        elif word in ("-u", "--unset") and words:
            taken.add(words.pop(0))
        elif word.startswith("--unset="):
            taken.add(word.removeprefix("--unset="))
        elif word.startswith("-u") and len(word) > 2:
            taken.add(word[2:])
        elif word == "--":
            continue
        elif word.startswith("-"):
            raise CommandError(
                f"`env {word}` would change the environment after the launch has set it; "
                "give the variables with --env, and the command without `env`"
            )
        else:
            return [word, *words]
    raise CommandError("`env` is given no command")


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
