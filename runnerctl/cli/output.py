"""Where results go: standard output, or a file that is whole or untouched."""

from __future__ import annotations

from pathlib import Path

import typer

from runnerctl.cli.exits import UsageError

__all__ = ["write_new", "write_output"]


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


def write_new(text: str, path: Path) -> None:
    """Write a file that must not exist yet, and the folders above it. Raises `UsageError`; a half of it never stays."""
    try:
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True)
        with path.open("x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
            except BaseException:
                path.unlink(missing_ok=True)
                raise
    except OSError as error:
        if isinstance(error, FileExistsError) and path.parent.is_dir():
            raise UsageError(f"{path}: it exists, and is left as it is") from error
        raise UsageError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from error
