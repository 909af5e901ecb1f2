"""The engine catalog as text: tables, one release, two releases, a verification."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import typer

from policy.decision.sides import OTHER, Crossing
from policy.engine import Catalog, EngineRelease
from policy.engine.differences import Difference, ReleaseDifferences
from policy.engine.release import RUNNERS, Choice
from policy.facts.fields import SWITCH
from policy.verification.verify import Verification
from runnerctl.cli.exits import ExitCode

__all__ = [
    "described",
    "differences_text",
    "own_choice_in_words",
    "release_text",
    "table",
    "verification_text",
]

SHOWN = 10


def described(catalog: Catalog, release: str) -> EngineRelease:
    """The release, or exit 3 with the reason why the catalog does not describe it."""
    found = catalog.find(release)
    if isinstance(found, EngineRelease):
        return found
    typer.echo(str(found), err=True)
    raise typer.Exit(ExitCode.UNDETERMINED)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows in columns, two blanks between them."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def own_choice_in_words(engine: EngineRelease) -> str:
    """What the release picks where nobody sets the switch: the default, then the broadest exception."""
    default = next(choice for choice in engine.choice if choice.id == "default")
    exception = next((choice for choice in engine.choice if choice.id == "no-default-model"), None)
    return f"{default.runner}: {default.reason}" + (f"; {exception.reason}" if exception else "")


def release_text(engine: EngineRelease, names: Mapping[str, Any] | None) -> str:
    """One release: the switch, the rules in the order in which they are asked, and what each runner lacks."""
    lines = [f"vLLM {engine.release}", f"{SWITCH}: {_switch(engine.switch)}"]
    lines += [f"deprecated: {runner} since {since}" for runner, since in engine.deprecated.items()]
    if engine.overrides:
        lines += ["whatever the switch says:", *(_rule(choice) for choice in engine.overrides)]
    lines += ["own choice, the first that holds:", *(_rule(choice) for choice in engine.choice)]
    if engine.default_v2_architectures is not None:
        lines.append("default V2 architectures:")
        lines += [f"  {n}{_when(m)}" for n, m in engine.default_v2_architectures.items()]
    for runner in RUNNERS:
        gaps = [*engine.refused[runner], *engine.unsupported[runner]]
        lines.append(f"{runner} does not serve: {'' if gaps else 'nothing is checked'}".rstrip())
        lines += [f"  {gap.feature or gap.message}{_when(gap.match)}" for gap in gaps]
    if names is not None:
        counts = f"{len(names['architectures'])} architectures, {len(names['environment_variables'])}"
        lines.append(f"registered: {counts} environment variables")
    return "\n".join(lines) + "\n"


def _switch(kind: str) -> str:
    return {
        "none": "does not exist",
        "off-by-default": "0 where it is not set; integers only",
        "three-state": "0, 1, or not set for the release's own choice; integers only",
    }[kind]


def _rule(choice: Choice) -> str:
    return f"  {choice.runner}: {choice.reason}{_when(choice.match)}"


def _when(match: object) -> str:
    condition = str(match).removeprefix("{").removesuffix("}")
    return f"  [{condition}]" if condition else ""


def differences_text(found: ReleaseDifferences, crossed: Sequence[Crossing]) -> str:
    """Two releases: what changed, then the deployments that change sides."""
    lines = [f"vLLM {found.before} -> {found.after}"]
    if found.switch:
        lines.append(f"{SWITCH}: {found.switch[0]} -> {found.switch[1]}")
    lines += [f"{runner} is deprecated since {since}" for runner, since in found.deprecated.items()]
    for runner, gaps in found.unsupported.items():
        lines += _section(f"no longer refused by {runner}", gaps.dropped)
        lines += _section(f"newly refused by {runner}", gaps.added)
        lines += _section(f"refused by {runner} otherwise than before", gaps.changed)
    lines += _named("own choice", found.choice, limit=None)
    lines += _named("default V2 architectures", found.default_architectures, limit=None)
    lines += _named("registered architectures", found.architectures)
    lines += _named("environment variables", found.variables)
    lines += _section("deployments that change sides", [_crossing(crossing) for crossing in crossed])
    if len(lines) == 1:
        lines.append("nothing changed that the catalog describes")
    elif not crossed:
        lines.append("no representative deployment changes sides")
    return "\n".join(lines) + "\n"


def _section(title: str, entries: Sequence[str]) -> list[str]:
    return [f"{title}:", *(f"  {entry}" for entry in entries)] if entries else []


def _named(title: str, found: Difference, limit: int | None = SHOWN) -> Iterator[str]:
    for how, names in (("added", found.added), ("dropped", found.dropped), ("changed", found.changed)):
        if names:
            yield f"{title} {how} ({len(names)}):"
            yield from (f"  {name}" for name in names[:limit])
            if limit is not None and len(names) > limit:
                yield f"  and {len(names) - limit} more; --format json lists them"


def _crossing(crossing: Crossing) -> str:
    switch = "switch not set" if crossing.switch is None else f"switch {crossing.switch}"
    where = f", on {crossing.platforms[0]} only" if len(crossing.platforms) == 1 else ""
    names = ", ".join("any other architecture" if n == OTHER else n for n in crossing.architectures)
    return f"{crossing.before} -> {crossing.after}  {crossing.shape}, {switch}{where}: {names}"


def verification_text(found: Verification) -> str:
    """What a source has that the catalog has not, the deciding functions first."""
    what = f"{found.source}: {found.distribution or 'vllm'} {found.version}"
    lines = [what]
    if found.unknown_because:
        lines.append(
            f"the catalog does not know this release ({found.unknown_because}); compared with {found.against}:"
        )
    lines += [f"  {line}" for line in found.changes.functions.lines("function")]
    lines += [f"  {line}" for line in _named("architectures", found.changes.architectures)]
    lines += [f"  {line}" for line in _named("environment variables", found.changes.variables)]
    lines += [f"  the code asks for `{path}`, which facts do not have" for path in found.unknown_fields]
    if not found.changes:
        lines.append(
            f"functions that decide, architectures and environment variables are those of {found.against}"
        )
    if found.samples:
        agreed = found.samples - len(found.disagreements)
        lines.append(
            f"{agreed} of {found.samples} random deployments get the same answer from vLLM's own functions"
        )
    for one in found.disagreements[:SHOWN]:
        lines += [
            f"  facts    {json.dumps(one.facts)}",
            f"    catalog  {one.catalog}",
            f"    vllm     {one.vllm}",
        ]
    if found.unknown_because:
        lines.append("a person has to describe it; the draft says what to look at")
    return "\n".join(lines) + "\n"
