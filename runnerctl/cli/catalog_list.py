"""`runnerctl catalog list`: every release that the catalog describes, in a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runnerctl.cli.formats import Format

if TYPE_CHECKING:
    from policy.engine import Catalog, EngineRelease


def list_(
    format_: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.text,
    catalog: Annotated[str | None, typer.Option(metavar="DIR", help="Another engine catalog.")] = None,
) -> None:
    """List the releases: how the switch is read, what each picks by itself, what is deprecated."""
    from runnerctl.cli.catalog_text import table
    from runnerctl.cli.inputs import open_catalog

    releases = open_catalog(catalog)
    rows = [_row(releases, releases.load(release)) for release in releases.releases]
    if format_ is Format.json:
        typer.echo(json.dumps({"releases": rows}, indent=2))
        return
    lines = [
        (
            row["release"],
            row["switch"],
            ", ".join(row["deprecated"]) or "-",
            "-" if row["architectures"] is None else str(row["architectures"]),
            row["own_choice"],
        )
        for row in rows
    ]
    head = ("RELEASE", "SWITCH", "DEPRECATED", "ARCHITECTURES", "OWN CHOICE")
    typer.echo(table([head, *lines]), nl=False)


def _row(catalog: Catalog, engine: EngineRelease) -> dict[str, Any]:
    from runnerctl.cli.catalog_text import own_choice_in_words

    names = catalog.names(engine.release)
    return {
        "release": engine.release,
        "switch": engine.switch,
        "own_choice": own_choice_in_words(engine),
        "deprecated": sorted(engine.deprecated),
        "architectures": len(names["architectures"]) if names else None,
        "default_v2_architectures": sorted(engine.default_v2_architectures)
        if engine.default_v2_architectures is not None
        else None,
    }
