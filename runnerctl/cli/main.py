"""The `runnerctl` command: registers the verbs and turns failures into one message and an exit code."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer

from policy.input_error import InputError
from runnerctl import __version__
from runnerctl.cli.attest import attest
from runnerctl.cli.compile import compile_
from runnerctl.cli.exits import ExitCode
from runnerctl.cli.launch import launch
from runnerctl.cli.resolve import resolve
from runnerctl.cli.schema import schema

__all__ = ["app", "run"]

app = typer.Typer(
    name="runnerctl",
    help="Policies for vLLM's model runner: resolve, compile, launch and attest V1 or V2.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich costs 40 ms at every start
)
for verb in (resolve, launch, attest, schema):
    app.command()(verb)
app.command("compile")(compile_)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"runnerctl {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    del version


def run() -> NoReturn:
    """The entry point. Exits with the codes of `runnerctl.cli.exits`."""
    try:
        app()
        code = int(ExitCode.OK)
    except SystemExit as leaving:
        code = (
            leaving.code if isinstance(leaving.code, int) else int(ExitCode.OK if leaving.code is None else 1)
        )
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        code = int(ExitCode.INVALID)
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        code = 141
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone: keep Python from complaining again while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    sys.exit(code)
