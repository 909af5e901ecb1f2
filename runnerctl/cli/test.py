"""`runnerctl test`: runs the tests of policies, and says how much of the policies they hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runnerctl.cli.exits import ExitCode, UsageError
from runnerctl.cli.formats import Format

if TYPE_CHECKING:
    from policy.engine import Catalog
    from policy.mutation.run import Findings
    from policy.rules.policy_set import PolicyTest


def test(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH",
            help="Policies, test files and folders; without any, those that the project's settings name, or configs/.",
        ),
    ] = None,
    select: Annotated[
        str, typer.Option("-k", metavar="TEXT", help="Only tests whose name, or expected rule, holds TEXT.")
    ] = "",
    verbose: Annotated[bool, typer.Option("-v", help="Show the tests that pass, too.")] = False,
    together: Annotated[
        bool, typer.Option("--together", help="Run every test against all of these policies at once.")
    ] = False,
    coverage: Annotated[bool, typer.Option("--coverage", help="Show which rules decided in a test.")] = False,
    mutation: Annotated[
        bool,
        typer.Option("--mutation", help="Change the policies, one thing at a time: do the tests notice?"),
    ] = False,
    lint: Annotated[
        bool, typer.Option("--lint", help="With --mutation: a change that lint notices is noticed, too.")
    ] = False,
    fail_under: Annotated[
        float | None,
        typer.Option(
            metavar="PERCENT",
            min=0,
            max=100,
            help="Exit 1 when less is covered (or, with --mutation, noticed).",
        ),
    ] = None,
    junit: Annotated[str | None, typer.Option(metavar="FILE", help="Write JUnit XML, too.")] = None,
    format_: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.text,
    catalog: Annotated[str | None, typer.Option(metavar="DIR", help="Another engine catalog.")] = None,
) -> None:
    """Run the tests of policies; exit 1 when one fails, 2 when there is none."""
    from policy.testing.run import ask_all, run
    from policy.testing.suite import load_suites
    from runnerctl.cli.configured import policy_paths_here
    from runnerctl.cli.inputs import open_catalog
    from runnerctl.cli.test_report import make_report

    if junit == "-":
        raise UsageError("--junit -: JUnit XML is written to a file; standard output has the report")
    paths = paths or policy_paths_here(Path())
    if lint and not mutation:
        raise UsageError("--lint goes with --mutation; `runnerctl lint` looks at the policies as they are")
    releases = open_catalog(catalog)
    suites = load_suites(paths, together=together)
    asked = ask_all(suites, releases, lambda one: _is_selected(one, select))
    if not asked:
        of = f" whose name or rule holds `{select}`" if select else ""
        raise UsageError(f"nothing to check: no test{of} in {', '.join(paths)}")
    coverage = coverage or (fail_under is not None and not mutation)
    report = make_report(
        suites,
        asked,
        list(run(asked)),
        coverage=coverage,
        mutation=mutation,
        findings=_lint_findings(releases) if lint else None,
        fail_under=fail_under,
    )
    if junit is not None:
        from runnerctl.cli.junit import junit_xml
        from runnerctl.cli.output import write_output

        write_output(junit_xml(report.junit_cases()), junit)
    if format_ is Format.json:
        typer.echo(report.as_json())
    else:
        from runnerctl.cli.test_text import report_text

        typer.echo(report_text(report, verbose=verbose), nl=False)
    if not report.fine:
        raise typer.Exit(ExitCode.NO)


def _lint_findings(catalog: Catalog) -> Findings:
    from datetime import date

    from runnerctl.cli.mutation_lint import findings_of

    return findings_of(catalog, date.today())


def _is_selected(test: PolicyTest, text: str) -> bool:
    return text in test.name or text in test.expect.get("rule", "")
