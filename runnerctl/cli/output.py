"""Where results go: standard output, or a file that is whole or untouched."""

from __future__ import annotations

from pathlib import Path

from policy.input_error import reason_of
from runnerctl.cli.exits import UsageError

__all__ = ["write_file", "write_new", "write_output"]


def write_output(text: str, output: str) -> None:
    """Write to the file `output`, beside it first, or to standard output for `-`. Raises `UsageError`."""
    if output == "-":
        import typer  # a lint that writes a file does without

        typer.echo(text, nl=False)
    else:
        write_file(text, output)


def write_file(text: str, name: str) -> None:
    """Write to the file `name`, beside it first. Raises `UsageError`."""
    from policy.compiled.artifact import write_atomically

    try:
        write_atomically(Path(name), text)
    except OSError as error:
        raise UsageError(f"{name}: cannot be written: {reason_of(error)}") from error


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
        raise UsageError(f"{path}: cannot be written: {reason_of(error)}") from error
