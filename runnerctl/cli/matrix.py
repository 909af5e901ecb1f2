"""`runnerctl matrix`: architectures by releases, and the runner that each gets."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runnerctl.cli.exits import ExitCode, UsageError
from runnerctl.cli.output import write_output

if TYPE_CHECKING:
    from policy.engine import Catalog, EngineRelease
    from policy.matrix import Column, Matrix


class MatrixFormat(StrEnum):
    text = "text"
    markdown = "markdown"
    html = "html"
    svg = "svg"
    json = "json"


def matrix(
    release: Annotated[
        list[str] | None,
        typer.Option("--release", "-r", help="A release, or a specifier such as `>=0.22`; repeatable."),
    ] = None,
    architecture: Annotated[
        list[str] | None,
        typer.Option("--architecture", "-a", metavar="GLOB", help="Architectures to show; repeatable."),
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option("--policy", "-p", help="A policy file or folder; repeatable.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="One fact, of all; repeatable.")
    ] = None,
    platform: Annotated[str | None, typer.Option(help="Short for --set platform=PLATFORM.")] = None,
    assume: Annotated[
        str | None,
        typer.Option(
            metavar="RELEASE", help="Decide as this release where the catalog does not know one of --release."
        ),
    ] = None,
    format_: Annotated[
        MatrixFormat, typer.Option("--format", help="text, markdown, html, svg or json.")
    ] = MatrixFormat.text,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write; `-` is standard output.")
    ] = "-",
    catalog: Annotated[str | None, typer.Option(metavar="DIR", help="Another engine catalog.")] = None,
) -> None:
    """Show which model runner every architecture gets in every release."""
    from datetime import date

    from policy.matrix import build_matrix
    from runnerctl.cli.inputs import open_catalog, read_policies

    settings = [*(set_ or []), *([f"platform={platform}"] if platform is not None else [])]
    over = _given(settings)
    policies = read_policies(policy or [], no_policy=False)
    columns = _columns(open_catalog(catalog), release or [], assume)
    built = build_matrix(
        columns,
        _selected(columns, architecture or []),
        policies,
        over,
        given=[*settings, *(f"--policy {name}" for name in policy or [])],
        command=_command(release, architecture, policy, set_, platform, assume, catalog),
        today=date.today(),
    )
    write_output(_rendered(built, format_), output)


def _given(settings: list[str]) -> Mapping[str, Any]:
    from runnerctl.cli.inputs import read_settings

    over = read_settings(settings).facts
    if "vllm" in over:
        raise UsageError("--set vllm: give --release RELEASE")
    if {"architectures", "architecture"} & set(over.get("model_config") or {}):
        raise UsageError("--set architectures: give --architecture GLOB")
    if "model_config" in over and over["model_config"] is None:
        raise UsageError("--set model_config=null: a matrix is about models")
    return over


def _columns(catalog: Catalog, wanted: list[str], assume: str | None) -> list[Column]:
    """The releases to show, oldest first; without a wish, all of which the registry is known."""
    from policy.matrix import Column

    columns = []
    for name, engine in _releases(catalog, wanted, assume).items():
        registered = catalog.names(engine.release)
        if registered is not None:
            version = None if name == engine.release else name
            columns.append(Column(engine, registered["architectures"], version))
        elif wanted:
            typer.echo(f"vLLM {name} is left out: the catalog has no list of its architectures", err=True)
    if not columns:
        raise UsageError("nothing to show: no release whose architectures are listed")
    return columns


def _releases(catalog: Catalog, wanted: list[str], assume: str | None) -> dict[str, EngineRelease]:
    """Each release that is wanted with the one that describes it, or is assumed to; oldest first."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import Version

    found: dict[str, EngineRelease] = (
        {} if wanted else {name: catalog.load(name) for name in catalog.releases}
    )
    for text in wanted:
        if text.startswith(("<", ">", "=", "!", "~")):
            try:
                inside = SpecifierSet(text)
            except InvalidSpecifier as error:
                raise UsageError(f"--release {text}: not a PEP 440 version specifier") from error
            matching = [r for r in catalog.releases if inside.contains(r, prereleases=True)]
            if not matching:
                raise UsageError(f"--release {text}: no release of the catalog is in it")
            found.update((name, catalog.load(name)) for name in matching)
            continue
        name, engine = _described(catalog, text, assume)
        found[name] = engine
    return dict(sorted(found.items(), key=lambda entry: Version(entry[0])))


def _described(catalog: Catalog, text: str, assume: str | None) -> tuple[str, EngineRelease]:
    """The release that a version is, and who decides for it. Leaves with exit 3 where the catalog does not say."""
    from packaging.version import Version

    from policy.engine import EngineRelease as Known

    described = catalog.find(text)
    if isinstance(described, Known):
        return described.release, described
    engine = catalog.find(text, assume)
    if isinstance(engine, Known):
        return str(Version(text)), engine
    hint = f"; --assume {engine.nearest} decides as that release does" if engine.nearest else ""
    typer.echo(f"{engine}{hint}", err=True)
    raise typer.Exit(ExitCode.UNDETERMINED)


def _selected(columns: list[Column], patterns: list[str]) -> list[str]:
    """The architectures that match, pattern by pattern; without patterns all, sorted."""
    from policy.document.diagnostic import nearest
    from policy.rules.match import Glob

    every = sorted({name for column in columns for name in column.architectures})
    if not patterns:
        return every
    found: dict[str, None] = {}
    for pattern in patterns:
        matching = [name for name in every if Glob(pattern).holds(name)]
        if not matching:
            message = (
                f"--architecture {pattern}: no release shown here registers it; {nearest(pattern, every)}"
            )
            raise UsageError(message.rstrip("; "))
        found.update(dict.fromkeys(matching))
    return list(found)


def _command(
    release: list[str] | None,
    architecture: list[str] | None,
    policy: list[str] | None,
    settings: list[str] | None,
    platform: str | None,
    assume: str | None,
    catalog: str | None,
) -> str:
    """What makes this matrix again, but for where it goes and how it looks."""

    def words() -> Iterator[str]:
        yield from ("runnerctl", "matrix")
        named = (
            ("--release", release),
            ("--architecture", architecture),
            ("--policy", policy),
            ("--set", settings),
        )
        for option, values in named:
            for value in values or []:
                yield from (option, value)
        for option, one in (("--platform", platform), ("--assume", assume), ("--catalog", catalog)):
            if one is not None:
                yield from (option, one)

    return shlex.join(words())


def _rendered(built: Matrix, format_: MatrixFormat) -> str:
    from policy.matrix.html import matrix_html
    from policy.matrix.markdown import matrix_markdown
    from policy.matrix.svg import matrix_svg
    from policy.matrix.text import matrix_text

    renderers: dict[MatrixFormat, Callable[[Matrix], str]] = {
        MatrixFormat.text: matrix_text,
        MatrixFormat.markdown: matrix_markdown,
        MatrixFormat.html: matrix_html,
        MatrixFormat.svg: matrix_svg,
        MatrixFormat.json: lambda m: json.dumps(m.as_json(), indent=1) + "\n",
    }
    return renderers[format_](built)
