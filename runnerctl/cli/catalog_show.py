"""`runnerctl catalog show`: one release as the catalog describes it."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from runnerctl.cli.formats import Format


def show(
    release: Annotated[str, typer.Argument(help="A vLLM version, such as 0.23.0.")],
    format_: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.text,
    catalog: Annotated[str | None, typer.Option(metavar="DIR", help="Another engine catalog.")] = None,
) -> None:
    """Show what RELEASE picks by itself and what each runner cannot serve there."""
    from runnerctl.cli.catalog_text import described, release_text
    from runnerctl.cli.inputs import open_catalog

    releases = open_catalog(catalog)
    engine = described(releases, release)
    names = releases.names(engine.release)
    if format_ is Format.json:
        typer.echo(json.dumps({**engine.data, "names": names}, indent=2))
        return
    typer.echo(release_text(engine, names), nl=False)
