"""`runnerctl launch`: decide, set the environment in the right order, and become the engine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runnerctl.cli.exits import UsageError, exit_code_of
from runnerctl.cli.formats import DryRunFormat

if TYPE_CHECKING:
    from policy.decision import Decision
    from runnerctl.launch.plan import Plan


def launch(
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND...", help="`vllm serve MODEL ARGS`, or any other.")
    ],
    policy: Annotated[
        list[str] | None, typer.Option("--policy", "-p", help="A policy file or folder; repeatable.")
    ] = None,
    no_policy: Annotated[bool, typer.Option("--no-policy", help="The engine catalog alone.")] = False,
    env_file: Annotated[
        list[str] | None, typer.Option("--env-file", help="NAME=VALUE lines; repeatable.")
    ] = None,
    env: Annotated[
        list[str] | None, typer.Option("--env", "-e", metavar="NAME=VALUE", help="Repeatable.")
    ] = None,
    facts: Annotated[str | None, typer.Option(help="A facts file; it wins over what was read.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="One fact; repeatable.")
    ] = None,
    attest: Annotated[
        Path | None, typer.Option("--attest", metavar="DIR", help="Folder for the attestation.")
    ] = None,
    defer: Annotated[
        bool, typer.Option("--defer", help="Leave the decision to the guard, in the process.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would run and be set.")] = False,
    format_: Annotated[DryRunFormat, typer.Option("--format", help="Of --dry-run.")] = DryRunFormat.text,
    strict_env: Annotated[
        bool, typer.Option("--strict-env", help="Overriding the operator's switch is an error.")
    ] = False,
    assume: Annotated[
        str | None, typer.Option(help="Decide as this release where the catalog has none.")
    ] = None,
    catalog: Annotated[str | None, typer.Option(metavar="DIR", help="Another engine catalog.")] = None,
) -> None:
    """Start COMMAND under the runner that the policies decide, and attest what ran."""
    from runnerctl.cli.inputs import open_catalog, read_facts_file, read_policies, read_settings
    from runnerctl.launch.plan import Plan
    from runnerctl.launch.prepare import Request, prepare
    from runnerctl.launch.start import start

    prepared = prepare(
        Request(
            words=command,
            policies=read_policies(policy or [], no_policy=no_policy),
            catalog=open_catalog(catalog),
            process=os.environ,
            env_files=env_file or [],
            settings=env or [],
            given=[*([read_facts_file(facts)] if facts else []), read_settings(set_ or [])],
            folder=attest,
            assume=assume,
            defer=defer,
            strict_env=strict_env,
        )
    )
    if not isinstance(prepared, Plan):
        _refuse(prepared)
    elif dry_run:
        _show(prepared, format_)
    else:
        _check_guard(prepared)
        _announce(prepared)
        start(prepared)


def _refuse(decision: Decision) -> None:
    from runnerctl.cli.decision_text import decision_text

    typer.echo(f"runnerctl: not started\n{decision_text(decision)}", err=True, nl=False)
    if decision.status == "undetermined" and any(e.code == "missing-facts" for e in decision.errors):
        typer.echo("or give --defer, which leaves the decision to the guard inside the process", err=True)
    raise typer.Exit(exit_code_of(decision.status))


def _show(plan: Plan, format_: DryRunFormat) -> None:
    from runnerctl.cli.decision_text import decision_text
    from runnerctl.cli.dry_run import dry_run_text

    typer.echo(dry_run_text(plan, format_), nl=False)
    if format_ is DryRunFormat.text:
        typer.echo(
            "deferred    the guard decides" if plan.deferred else decision_text(plan.decision),
            nl=plan.deferred,
        )


def _check_guard(plan: Plan) -> None:
    if not plan.guarded:
        raise UsageError(
            f"runnerctl is not installed where `{plan.argv[0]}` runs, so its guard could not load there; "
            "install runnerctl into that environment"
        )


def _announce(plan: Plan) -> None:
    """One line for the log that the engine will go on writing, and a line for each override and warning."""
    by = plan.decision.decided_by
    who = (
        "the guard will decide"
        if plan.deferred or by is None
        else f"{plan.decision.runner} by {by.rule or by.reason}"
    )
    typer.echo(f"runnerctl: {who}; attestation in {plan.folder}", err=True)
    for line in plan.notes:
        typer.echo(f"runnerctl: {line}", err=True)
