"""`runnerctl attest`: what the processes of one launch really used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from runnerctl.cli.exits import ExitCode, UsageError
from runnerctl.cli.formats import Format


def attest(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that the launch named.")],
    format_: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.text,
) -> None:
    """Show the attestation records in DIR; exit 4 on a difference or a missing process."""
    from runnerctl.attestation.record import read_records
    from runnerctl.attestation.report import report_on
    from runnerctl.cli.attest_text import report_text

    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    records = list(read_records(folder))
    if not records and (refused := _refusal(folder)):
        typer.echo(f"{folder}: no engine was started: {refused}", err=True)
        raise typer.Exit(ExitCode.NO)
    if not records and (folder / "policy.json").exists():
        typer.echo(
            f"{folder}: a launch left its policy here, and no process a record: no guard was loaded", err=True
        )
        raise typer.Exit(ExitCode.DIFFERENT)
    if not records:
        raise UsageError(f"{folder}: no attestation record, and no launch that should have left one")
    report = report_on(records)
    if format_ is Format.json:
        typer.echo(json.dumps(report.as_json(), indent=2))
    else:
        typer.echo(report_text(report), nl=False)
    if not report.ok:
        raise typer.Exit(ExitCode.DIFFERENT)


def _refusal(folder: Path) -> str | None:
    """Why a launch or its guard refused to start an engine, if that is what is on record."""
    try:
        decision = json.loads((folder / "decision.json").read_text("utf-8"))
        refused = decision["status"] != "ok"
        return "; ".join(error["message"] for error in decision["errors"]) if refused else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
