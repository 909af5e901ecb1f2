"""The `runnerctl` command: registers the verbs and turns failures into one message and an exit code."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from policy.input_error import InputError
from runnerctl import __version__
from runnerctl.cli.exits import ExitCode

__all__ = ["VERBS", "application", "run"]

# Verb, in the order of --help, and where it lives: a function, or a Typer group of further verbs.
VERBS = {
    "resolve": "runnerctl.cli.resolve:resolve",
    "compile": "runnerctl.cli.compile:compile_",
    "test": "runnerctl.cli.test:test",
    "launch": "runnerctl.cli.launch:launch",
    "attest": "runnerctl.cli.attest:attest",
    "upgrade": "runnerctl.cli.upgrade:upgrade",
    "diff": "runnerctl.cli.diff:diff",
    "matrix": "runnerctl.cli.matrix:matrix",
    "catalog": "runnerctl.cli.catalog:catalog",
    "schema": "runnerctl.cli.schema:schema",
}


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"runnerctl {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Policies for vLLM's model runner: resolve, compile, launch and attest V1 or V2."""
    del version


def application(arguments: Sequence[str] = ()) -> typer.Typer:
    """The command line for `arguments`: with one verb where they begin with one, else with all of them.

    Building a verb costs a millisecond or two, and its imports more: a run pays for its own only.
    """
    app = typer.Typer(
        name="runnerctl",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # rich costs 40 ms at every start
    )
    app.callback()(_options)
    wanted = arguments[:1] if arguments and arguments[0] in VERBS else VERBS
    for name in wanted:
        module, _, attribute = VERBS[name].partition(":")
        verb = getattr(importlib.import_module(module), attribute)
        if isinstance(verb, typer.Typer):
            app.add_typer(verb, name=name)
        else:
            app.command(name)(verb)
    return app


def run() -> NoReturn:
    """The entry point. Exits with the codes of `runnerctl.cli.exits`."""
    _open_missing_streams()
    out = sys.stdout
    try:
        application(sys.argv[1:])()
        code = int(ExitCode.OK)
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(ExitCode.OK)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        code = int(ExitCode.INVALID)
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        code = 141
    if (
        sys.stdout is not out
    ):  # Typer puts a wrapper there when the reader of a pipe has gone, and exits with 1
        code = 141
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone: keep Python from complaining again while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = _say(error)
    sys.exit(code)


def _open_missing_streams() -> None:
    """A process may be started with its standard streams closed: what is written there goes nowhere."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115


def _say(error: OSError) -> int:
    sys.stderr.write(f"cannot write: {(error.strerror or str(error)).lower()}\n")
    return int(ExitCode.INVALID)
