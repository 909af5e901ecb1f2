"""`runnerctl lint`: what is wrong, risky or idle in policies."""

from __future__ import annotations

from typing import Annotated

import typer

from runnerctl.cli.completion import formats_of_lint, lint_rules


def lint(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="Policy files and folders, used together; `-` is standard input. Without any: those of the settings, "
            "or configs/.",
        ),
    ] = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="text|json|sarif|github|junit",
            help="How to say it.",
            autocompletion=formats_of_lint,
        ),
    ] = "text",
    select: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help="Only these rules: codes, prefixes of codes, families, names; ALL.",
            autocompletion=lint_rules,
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="RULE", help="Not these rules.", autocompletion=lint_rules)
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Mend what can be mended safely, and say the rest.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show what --fix would change; change nothing.")
    ] = False,
    baseline: Annotated[
        str | None, typer.Option(metavar="FILE", help="Leave out the findings that FILE holds.")
    ] = None,
    write_baseline: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the findings of this run to FILE, and exit with 0."),
    ] = None,
    stdin_filename: Annotated[
        str, typer.Option(metavar="NAME", help="What to call standard input.")
    ] = "<stdin>",
    today: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="The day against which rules expire.")
    ] = None,
    catalog: Annotated[str | None, typer.Option(metavar="DIR", help="Another engine catalog.")] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Look at every file anew.")] = False,
) -> None:
    """Check policies for mistakes, for what cannot work and for what rots.

    Exit 1 when there is an error or a warning, 2 when something could not be read or there is nothing to check.
    `runnerctl explain CODE` says more of each rule.
    """
    from runnerctl.cli.linting import run_lint

    raise SystemExit(
        run_lint(
            paths=paths or [],
            format_=format_,
            select=select or [],
            ignore=ignore or [],
            fix=fix,
            diff=diff,
            baseline=baseline,
            write_baseline=write_baseline,
            stdin_filename=stdin_filename,
            today=today,
            catalog=catalog,
            no_cache=no_cache,
        )
    )
