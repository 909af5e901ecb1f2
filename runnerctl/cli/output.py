"""Where results go: standard output, or a file that is whole or untouched."""

from __future__ import annotations

from pathlib import Path

import typer

from runnerctl.cli.exits import UsageError

__all__ = ["write_output"]


def write_output(text: str, output: str) -> None:
    """Write to the file `output`, beside it first, or to standard output for `-`. Raises `UsageError`."""
    if output == "-":
        typer.echo(text, nl=False)
        return
    from policy.compiled.artifact import write_atomically

    try:
        write_atomically(Path(output), text)
    except OSError as error:
        raise UsageError(f"{output}: cannot be written: {(error.strerror or str(error)).lower()}") from error
