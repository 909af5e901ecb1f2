"""`runnerctl compile`: one policy set for one release, as the artifact that the guard reads."""

from __future__ import annotations

from typing import Annotated

import typer

from runnerctl import __version__
from runnerctl.cli.completion import releases
from runnerctl.cli.exits import ExitCode, UsageError
from runnerctl.cli.output import write_output


def compile_(
    policy: Annotated[
        list[str] | None, typer.Option("--policy", "-p", help="A policy file or folder; repeatable.")
    ] = None,
    vllm: Annotated[
        str | None, typer.Option(help="The vLLM release to compile for.", autocompletion=releases)
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write; `-` is standard output.")
    ] = "-",
    platform: Annotated[str, typer.Option(help="The platform to compile for.")] = "cuda",
    assume: Annotated[
        str | None, typer.Option(help="Decide as this release where the catalog does not know VLLM.")
    ] = None,
    catalog: Annotated[str | None, typer.Option(metavar="DIR", help="Another engine catalog.")] = None,
) -> None:
    """Compile policies for one vLLM release into one JSON artifact, reproducible byte for byte."""
    from policy.compiled.architectures import default_v2_architectures
    from policy.compiled.artifact import compile_policy, to_text
    from policy.engine import EngineRelease
    from policy.facts.fields import field
    from runnerctl.cli.inputs import open_catalog, read_policies

    if not policy:
        raise UsageError("nothing to compile: give --policy FILE")
    if vllm is None:
        raise UsageError("give --vllm RELEASE: an artifact is for one release")
    known = field("platform")
    if known is not None and platform not in known.enum:
        raise UsageError(f"--platform {platform}: one of {', '.join(known.enum)}")
    known_releases = open_catalog(catalog)
    engine = known_releases.find(vllm, assume)
    if not isinstance(engine, EngineRelease):
        typer.echo(
            f"vLLM {vllm} is not a release that the catalog knows; --assume RELEASE compiles as for it",
            err=True,
        )
        raise typer.Exit(ExitCode.UNDETERMINED)
    policies = read_policies(policy, no_policy=False)
    names = known_releases.architecture_names(engine.release)
    found = default_v2_architectures(policies, engine, vllm, platform, names)
    if found is not None and found.conflicts:
        typer.echo("\n".join(f"{conflict} [conflicting-rules]" for conflict in found.conflicts), err=True)
        raise typer.Exit(ExitCode.NO)
    artifact = compile_policy(
        policies, engine, platform=platform, names=names, vllm=vllm, version=__version__
    )
    write_output(to_text(artifact), output)
