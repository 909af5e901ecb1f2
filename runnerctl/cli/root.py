"""`runnerctl` itself: what it takes before a verb."""

from __future__ import annotations

from typing import Annotated

import typer

from runnerctl import __version__


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"runnerctl {__version__}")
        raise typer.Exit


def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Policies for vLLM's model runner: resolve, compile, launch and attest V1 or V2."""
    del version
