"""`runnerctl explain`: the page of a rule of lint."""

from __future__ import annotations

from typing import Annotated

import typer

from runnerctl.cli.completion import lint_rules


def explain(
    rule: Annotated[
        str,
        typer.Argument(
            metavar="[CODE]", help="A code or a name; without it, all of them.", autocompletion=lint_rules
        ),
    ] = "",
) -> None:
    """Say what a rule of `lint` finds, why, and what would be right."""
    from policy.lint.registry import find_rule, rules

    if rule:
        typer.echo(find_rule(rule).page, nl=False)
        return
    for each in rules():
        life = "" if each.stage == "stable" else f" ({each.stage})"
        typer.echo(f"{each.code}  {each.severity:<7}  {each.name:<28}  {each.summary}{life}")
