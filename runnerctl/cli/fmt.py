"""`runnerctl fmt`: puts the keys of policies and test files in one order, and keeps all else."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from policy.input_error import InputError
from runnerctl.cli.exits import ExitCode, UsageError

if TYPE_CHECKING:
    from policy.document.source import Source

STDIN = "-"


def fmt(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH",
            help="Policies, test files and folders, or `-` for standard input; without any, those that the project's settings name, or configs/.",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; list what would change, and exit 1.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Write nothing; show what would change, and exit 1.")
    ] = False,
) -> None:
    """Put the keys of policies in one order; comments, quotes and layout stay."""
    from runnerctl.cli.configured import policy_paths_here
    from runnerctl.cli.output import write_output

    changes = _changes(_files(paths or policy_paths_here(Path())))
    for change in changes:
        if diff:
            _show_diff(change)
        elif check and change.differs:
            typer.echo(f"would be formatted: {change.target}")
    if check or diff:
        raise typer.Exit(ExitCode.NO if any(change.differs for change in changes) else ExitCode.OK)
    for change in changes:
        if change.target == STDIN:
            typer.echo(_utf_8(change.text), nl=False)
        elif change.differs:
            write_output(change.text, change.target)
            typer.echo(f"formatted: {change.target}", err=True)


def _utf_8(text: str) -> bytes:
    """A policy is UTF-8 whatever the terminal is: nothing of it is escaped."""
    return text.encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class _Change:
    """A file, and what it should hold."""

    target: str
    source: Source
    text: str

    @property
    def differs(self) -> bool:
        return self.text != self.source.written


def _show_diff(change: _Change) -> None:
    from runnerctl.reporters.unified import unified_diff

    diff = unified_diff(change.target, change.source.written, change.text)
    typer.echo(_utf_8(diff.text), nl=False)
    if diff.hidden:
        message = "its diff hides secrets, so it cannot be applied; without --diff the file is formatted"
        typer.echo(f"{change.target}: {message}", err=True)


def _files(paths: Sequence[str]) -> list[str]:
    """Every file that the paths stand for, once."""
    from policy.document.diagnostic import DocumentError
    from policy.rules.files import tests_of
    from policy.rules.policy_set import policy_paths

    found: dict[str, None] = {}
    for given in paths:
        if given == STDIN or not Path(given).is_dir():
            found[given] = None
            continue
        try:
            found.update(dict.fromkeys(map(str, policy_paths(given))))
        except DocumentError:
            if not os.access(given, os.R_OK) or not tests_of(given):
                raise  # a folder of tests alone is fine
        found.update(dict.fromkeys(map(str, tests_of(given))))
    return list(found)


def _changes(names: Sequence[str]) -> list[_Change]:
    """What becomes of each file. Raises `InputError` with what is wrong with any: then nothing is written."""
    from policy.document.source import read_source, read_stream
    from policy.formatting.format import format_text

    changes, problems = [], []
    for name in names:
        try:
            source = read_stream("<stdin>", sys.stdin.buffer) if name == STDIN else read_source(name)
            changes.append(_Change(name, source, source.bom + format_text(source)))
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    return changes
