"""`runnerctl catalog verify`: the catalog against a wheel, a source tree or the vLLM installed here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runnerctl.cli.exits import ExitCode, UsageError
from runnerctl.cli.formats import Format

if TYPE_CHECKING:
    from policy.engine.source import Tree


def verify(
    wheel: Annotated[str | None, typer.Option(metavar="FILE", help="A wheel of vLLM.")] = None,
    source: Annotated[str | None, typer.Option(metavar="DIR", help="A folder with `vllm/` in it.")] = None,
    installed: Annotated[
        bool, typer.Option("--installed", help="The vLLM of the environment that runnerctl runs in.")
    ] = False,
    release: Annotated[
        str | None, typer.Option(help="The release of a source that does not say which it is.")
    ] = None,
    samples: Annotated[
        int,
        typer.Option(
            min=0, help="Ask vLLM's own functions about this many random deployments. Runs its code."
        ),
    ] = 0,
    seed: Annotated[int, typer.Option(help="Other random deployments.")] = 1,
    draft: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the draft of an unknown release here.")
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.text,
    catalog: Annotated[str | None, typer.Option(metavar="DIR", help="Another engine catalog.")] = None,
) -> None:
    """Prove the catalog against a real vLLM, read and never imported.

    Exit 0: the same; 1: something differs; 2: not a vLLM that can be read; 3: a release that the catalog does not
    know.
    """
    from policy.verification.draft import write_draft
    from policy.verification.verify import verify as check
    from runnerctl.cli.catalog_text import verification_text
    from runnerctl.cli.inputs import open_catalog

    releases = open_catalog(catalog)
    tree = _tree(wheel, source, installed=installed)
    found = check(releases, tree, release=release, samples=samples, seed=seed)
    if draft is not None:
        if found.draft is None:
            raise UsageError(
                f"--draft {draft}: the catalog describes vLLM {found.against}; there is nothing to draft"
            )
        write_draft(Path(draft), found.draft)
    if format_ is Format.json:
        typer.echo(json.dumps(found.as_json(), indent=2))
    else:
        typer.echo(verification_text(found), nl=False)
        if found.draft is not None:
            typer.echo(f"draft written to {draft}" if draft else f"\n{found.draft}", nl=draft is not None)
    codes = {"same": ExitCode.OK, "different": ExitCode.NO, "unknown": ExitCode.UNDETERMINED}
    raise typer.Exit(codes[found.verdict])


def _tree(wheel: str | None, source: str | None, *, installed: bool) -> Tree:
    from policy.engine.source.tree import Folder, Wheel

    if [wheel is not None, source is not None, installed].count(True) != 1:
        raise UsageError("nothing to verify: give one of --wheel FILE, --source DIR and --installed")
    if wheel is not None:
        return Wheel(Path(wheel))
    if source is not None:
        return Folder(Path(source))
    from policy.facts.installation import read_installation

    here = read_installation(None)
    if here.package is None:
        raise UsageError(f"--installed: no vLLM is installed for {here.python}")
    return Folder(here.package.parent, here.release)
