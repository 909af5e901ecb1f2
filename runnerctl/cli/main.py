"""The `runnerctl` command: registers the verbs and turns failures into one message and an exit code."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, TextIO

from policy.input_error import InputError, reason_of
from runnerctl.cli.exits import ExitCode

if TYPE_CHECKING:
    import typer

__all__ = ["VERBS", "application", "run", "start"]

# What the system says of a standard stream that takes nothing more.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

# Verb, in the order of --help, and where it lives: a function, or a Typer group of further verbs.
VERBS = {
    "resolve": "runnerctl.cli.resolve:resolve",
    "compile": "runnerctl.cli.compile:compile_",
    "test": "runnerctl.cli.test:test",
    "lint": "runnerctl.cli.lint:lint",
    "explain": "runnerctl.cli.explain:explain",
    "fmt": "runnerctl.cli.fmt:fmt",
    "init": "runnerctl.cli.init:init",
    "launch": "runnerctl.cli.launch:launch",
    "attest": "runnerctl.cli.attest:attest",
    "upgrade": "runnerctl.cli.upgrade:upgrade",
    "diff": "runnerctl.cli.diff:diff",
    "matrix": "runnerctl.cli.matrix:matrix",
    "parity": "runnerctl.cli.parity:parity",
    "catalog": "runnerctl.cli.catalog:catalog",
    "schema": "runnerctl.cli.schema:schema",
}


def application(arguments: Sequence[str] = ()) -> typer.Typer:
    """The command line for `arguments`: with one verb where they begin with one, else with all of them.

    Building a verb costs a millisecond or two, and its imports more: a run pays for its own only.
    """
    import typer

    from runnerctl.cli.root import root

    app = typer.Typer(
        name="runnerctl",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # rich costs 40 ms at every start
    )
    app.callback()(root)
    if not arguments and "_RUNNERCTL_COMPLETE" in os.environ:
        from runnerctl.cli.completion import verb_in_progress

        arguments = verb_in_progress(os.environ)
    wanted = arguments[:1] if arguments and arguments[0] in VERBS else VERBS
    for name in wanted:
        module, _, attribute = VERBS[name].partition(":")
        verb = getattr(importlib.import_module(module), attribute)
        if isinstance(verb, typer.Typer):
            app.add_typer(verb, name=name)
        else:
            app.command(name)(verb)
    return app


def start() -> NoReturn:
    """The entry point of the script: `run`, and out.

    A lint leaves hundreds of thousands of values behind; to free them one by one takes a tenth of its time.
    """
    try:
        run()
    except SystemExit as leaving:
        if sys.argv[1:2] != ["lint"] or not isinstance(leaving.code, int):
            raise
        os._exit(leaving.code)


def run() -> NoReturn:
    """The whole program. Exits with the codes of `runnerctl.cli.exits`."""
    _open_missing_streams()
    _escape_what_cannot_be_shown()
    out = sys.stdout
    try:
        code = _lint_at_once(sys.argv[1:])
        if code is None:
            application(sys.argv[1:])()
            code = int(ExitCode.OK)
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(ExitCode.OK)
    except InputError as error:
        _say(str(error))
        code = int(ExitCode.INVALID)
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        code = 141
    except OSError as error:
        if error.filename is not None or error.errno not in _NO_ROOM:
            raise
        code = _cannot_write(error)
    if (
        sys.stdout is not out
    ):  # Typer puts a wrapper there when the reader of a pipe has gone, and exits with 1
        code = 141
    code = _flushed(sys.stdout, code)
    sys.exit(_flushed(sys.stderr, code))


def _flushed(stream: TextIO, code: int) -> int:
    """Write what a stream still holds. The exit code: `code`, or that of a stream that takes nothing more."""
    try:
        stream.flush()
    except OSError as error:
        # Keep Python from complaining again while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if isinstance(error, BrokenPipeError):
            return 141
        return code if stream is sys.stderr or code == int(ExitCode.INVALID) else _cannot_write(error)
    return code


def _lint_at_once(arguments: Sequence[str]) -> int | None:
    """The exit code of a plain `lint`, which is over before Typer would have started; None for anything else."""
    if arguments[:1] != ["lint"] or "_RUNNERCTL_COMPLETE" in os.environ:
        return None
    from runnerctl.cli.lint_options import plain_options

    options = plain_options(arguments[1:])
    if options is None:
        return None
    import gc

    from runnerctl.cli.linting import run_lint

    gc.disable()  # a third of the run, to find nothing: it ends before there is garbage worth the search
    return run_lint(**options)


def _open_missing_streams() -> None:
    """A process may be started with its standard streams closed: what is written there goes nowhere."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115


def _escape_what_cannot_be_shown() -> None:
    """A terminal may know fewer letters than a policy: the others are written as Python would, `\\xfc`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _cannot_write(error: OSError) -> int:
    _say(f"cannot write: {reason_of(error)}")
    return int(ExitCode.INVALID)


def _say(message: str) -> None:
    with contextlib.suppress(OSError):  # then there is nobody to tell
        sys.stderr.write(f"{message}\n")
