"""`runnerctl diff`: two versions of a policy set compared by meaning."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runnerctl.cli.exits import ExitCode, UsageError
from runnerctl.cli.formats import Format

if TYPE_CHECKING:
    from policy.analysis import Differences
    from policy.rules.policy_set import PolicySet


def diff(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[OLD NEW]",
            help="Two policy files or folders; with --git, those to compare with the commit, or without any those of "
            "the settings, or configs/.",
        ),
    ] = None,
    git: Annotated[
        str | None, typer.Option(metavar="REV", help="Compare the paths with what the commit REV has there.")
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.text,
    catalog: Annotated[str | None, typer.Option(metavar="DIR", help="Another engine catalog.")] = None,
) -> None:
    """Say which deployments get another decision, with an example of each; exit 1 when there are any.

    Order, names, files and layout make no difference. Exit 3: none was found, and not everything was settled.
    """
    from policy.analysis import differences
    from runnerctl.cli.diff_text import differences_json, differences_text
    from runnerctl.cli.inputs import open_catalog

    old, new = _sides(paths or [], git)
    if not (old.files or new.files):
        raise UsageError("nothing to compare: no policy on either side")
    found = differences(old, new, open_catalog(catalog))
    if format_ is Format.json:
        typer.echo(json.dumps(differences_json(found), indent=2))
    else:
        typer.echo(differences_text(found), nl=False)
    for cut in found.cut:
        sys.stderr.write(f"not settled: {', '.join(cut.rules) or 'some rules'}: {cut.why}\n")
    raise typer.Exit(_exit_code(found))


def _sides(paths: list[str], git: str | None) -> tuple[PolicySet, PolicySet]:
    """The policies before and after. Raises `InputError`."""
    from policy.rules.policy_set import PolicySet, load_policies

    if git is None:
        if len(paths) != 2:
            raise UsageError("give two files or folders, OLD and NEW, or --git REV and the paths to compare")
        return load_policies(paths[:1]), load_policies(paths[1:])
    from runnerctl.cli.git_files import policies_at

    if not paths:
        from runnerctl.cli.configured import policy_paths_here

        paths = policy_paths_here(Path())
    before = policies_at(git, paths)
    there = [path for path in paths if Path(path).exists()]
    if not before.files or there:  # a path that neither side has is an error of the working tree's reader
        return before, load_policies(there or paths)
    return before, PolicySet()


def _exit_code(found: Differences) -> ExitCode:
    if found.found:
        return ExitCode.NO
    return ExitCode.UNDETERMINED if found.cut else ExitCode.OK
