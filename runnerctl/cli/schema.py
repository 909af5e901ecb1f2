"""`runnerctl schema`: prints a JSON Schema, for editors and other tools."""

from __future__ import annotations

from typing import Annotated

import typer

from runnerctl.cli.completion import schemas
from runnerctl.cli.exits import UsageError


def schema(
    name: Annotated[
        str, typer.Argument(help="Which schema; without it, the names.", autocompletion=schemas)
    ] = "",
) -> None:
    """Print the JSON Schema NAME, or the names of all."""
    from policy.document.diagnostic import nearest
    from policy.document.schema import SCHEMAS, schema_folder

    if not name:
        typer.echo("\n".join(SCHEMAS))
        return
    if name not in SCHEMAS:
        raise UsageError(f"no schema `{name}`; {nearest(name, SCHEMAS) or 'known: ' + ', '.join(SCHEMAS)}")
    typer.echo((schema_folder() / f"{name}.schema.json").read_text("utf-8"), nl=False)
