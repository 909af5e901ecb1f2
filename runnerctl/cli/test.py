"""`runnerctl test`: runs the tests that policies carry."""

from __future__ import annotations

from typing import Annotated

import typer

from runnerctl.cli.exits import ExitCode, UsageError


def test(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Policy files and folders, used together.")
    ],
    select: Annotated[str, typer.Option("-k", metavar="TEXT", help="Only tests whose name holds TEXT.")] = "",
    verbose: Annotated[bool, typer.Option("-v", help="Show the tests that pass, too.")] = False,
    catalog: Annotated[str | None, typer.Option(metavar="DIR", help="Another engine catalog.")] = None,
) -> None:
    """Run the tests of policies; exit 1 when one fails, 2 when there is none."""
    from policy.decision.expectations import decide_test, unmet
    from runnerctl.cli.inputs import open_catalog, read_policies

    policies = read_policies(paths, no_policy=False)
    releases = open_catalog(catalog)
    tests = [test for file in policies.files for test in file.tests if select in test.name]
    if not tests:
        raise UsageError("nothing to check: no test" + (f" whose name holds `{select}`" if select else ""))
    failed = 0
    for case in tests:
        problems = list(unmet(decide_test(policies, releases, case), case.expect))
        failed += bool(problems)
        if problems or verbose:
            typer.echo(f"{'FAIL' if problems else 'ok'}  {case.location}  {case.name}")
        for problem in problems:
            typer.echo(f"      {problem}")
    typer.echo(f"{len(tests) - failed} passed, {failed} failed")
    if failed:
        raise typer.Exit(ExitCode.NO)
