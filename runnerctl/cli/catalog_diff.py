"""`runnerctl catalog diff`: what one release does otherwise than another, and which deployments change sides."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from runnerctl.cli.formats import Format


def diff(
    before: Annotated[str, typer.Argument(metavar="A", help="The release to compare with.")],
    after: Annotated[str, typer.Argument(metavar="B", help="The release to look at.")],
    format_: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.text,
    catalog: Annotated[str | None, typer.Option(metavar="DIR", help="Another engine catalog.")] = None,
) -> None:
    """Compare release A with B: features, own choice, architectures, variables, deployments that change sides."""
    from policy.decision.sides import crossings
    from policy.engine.differences import release_differences
    from runnerctl.cli.catalog_text import described, differences_text
    from runnerctl.cli.inputs import open_catalog

    releases = open_catalog(catalog)
    old, new = described(releases, before), described(releases, after)
    found, crossed = release_differences(releases, old, new), crossings(old, new)
    if format_ is Format.json:
        document = {**found.as_json(), "deployments": [crossing.as_json() for crossing in crossed]}
        typer.echo(json.dumps(document, indent=2))
        return
    typer.echo(differences_text(found, crossed), nl=False)
