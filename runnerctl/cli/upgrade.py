"""`runnerctl upgrade`: what changes for deployments between two vLLM releases under the same policies."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from runnerctl.cli.exits import ExitCode, UsageError

if TYPE_CHECKING:
    from policy.engine import Catalog
    from policy.rules.policy_set import PolicySet
    from policy.upgrade import Comparer, Tally


class UpgradeFormat(StrEnum):
    text = "text"
    json = "json"
    markdown = "markdown"


def upgrade(
    facts: Annotated[
        list[str] | None, typer.Argument(metavar="[FACTS]...", help="Facts files, one a deployment.")
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="RELEASE", help="The release in use.")
    ] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="RELEASE", help="The release to come.")] = None,
    policy: Annotated[
        list[str] | None, typer.Option("--policy", "-p", help="A policy file or folder; repeatable.")
    ] = None,
    batch: Annotated[
        str | None, typer.Option(help="JSON lines {id, vllm, facts}; `-` is standard input.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="One fact, of every deployment; repeatable."),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(metavar="KINDS", help="Exit 1 if one happens: flip, error, fixed, undetermined, same."),
    ] = None,
    format_: Annotated[
        UpgradeFormat, typer.Option("--format", help="text, json or markdown.")
    ] = UpgradeFormat.text,
    strict_env: Annotated[
        bool, typer.Option("--strict-env", help="Overriding the operator's switch is an error.")
    ] = False,
    assume: Annotated[
        str | None, typer.Option(help="Decide as this release where the catalog does not know one.")
    ] = None,
    catalog: Annotated[str | None, typer.Option(metavar="DIR", help="Another engine catalog.")] = None,
) -> None:
    """Say which deployments change sides, start to fail or become possible between two releases."""
    from runnerctl.cli.inputs import open_catalog, read_policies

    if from_ is None or to is None:
        raise UsageError("give --from RELEASE and --to RELEASE")
    if from_ == to:
        raise UsageError(f"nothing to compare: --from and --to are both {to}")
    if not (facts or batch or set_):
        raise UsageError("nothing to compare: give facts files, --batch FILE or --set PATH=VALUE")
    wanted = _kinds(fail_on or [])
    policies = read_policies(policy or [], no_policy=False)
    releases = open_catalog(catalog)
    comparer = _comparer(policies, releases, from_, to, assume, strict_env=strict_env)
    tally = _compare_all(facts or [], batch, set_ or [], policies, comparer, format_)
    raise typer.Exit(_exit_code(tally, wanted))


def _kinds(given: list[str]) -> set[str]:
    from policy.document.diagnostic import nearest
    from policy.upgrade import KINDS

    wanted = {kind.strip() for text in given for kind in text.split(",")}
    for kind in sorted(wanted):
        if kind not in KINDS:
            hint = f"{nearest(kind, KINDS)} the kinds are".strip()
            raise UsageError(f"--fail-on: no kind `{kind}`; {hint} {', '.join(KINDS)}")
    return wanted


def _comparer(
    policies: PolicySet, catalog: Catalog, before: str, after: str, assume: str | None, *, strict_env: bool
) -> Comparer:
    from datetime import date

    from policy.upgrade import Comparer

    return Comparer(
        policies, catalog, before, after, assume=assume, strict_env=strict_env, today=date.today()
    )


def _compare_all(
    files: list[str],
    batch: str | None,
    settings: list[str],
    policies: PolicySet,
    comparer: Comparer,
    format_: UpgradeFormat,
) -> Tally:
    """Compare every deployment as it is read, then write the report: its counts come first."""
    from policy.upgrade import Tally
    from policy.upgrade.pins import dead_rules
    from policy.upgrade.report import REPORTS
    from runnerctl.cli.deployments import BadDeployment, read_deployments

    before, after = comparer.before, comparer.after
    tally, report = Tally(before.version, after.version), REPORTS[format_.value]()
    for found in read_deployments(files, batch, settings):
        if isinstance(found, BadDeployment):
            tally.invalid += 1
            report.add_invalid(found.name, found.message)
            continue
        change = comparer.compare(found.name, found.facts)
        tally.add(change)
        report.add(change)
    if not tally.deployments + tally.invalid:
        raise UsageError(f"{batch}: nothing to compare: no line")
    for pin in dead_rules(policies, before.version, after.version):
        tally.add_dead(pin)
    sys.stdout.writelines(report.chunks(tally))
    return tally


def _exit_code(tally: Tally, wanted: set[str]) -> ExitCode:
    """A bad line, then what --fail-on names, then an undetermined decision."""
    if tally.invalid:
        return ExitCode.INVALID
    if any(tally.kinds[kind] for kind in wanted):
        return ExitCode.NO
    return ExitCode.UNDETERMINED if tally.kinds["undetermined"] else ExitCode.OK
