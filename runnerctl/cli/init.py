"""`runnerctl init`: writes a first policy from flags, and on a terminal from questions."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from runnerctl.cli.completion import releases
from runnerctl.cli.exits import UsageError

DEFAULT = "configs/policy.yaml"
SCHEMA = "policy.schema.json"
SOME_MODEL = "LlamaForCausalLM"


class Runner(StrEnum):
    v1 = "v1"
    v2 = "v2"
    engine = "engine"


class Ci(StrEnum):
    github = "github"
    gitlab = "gitlab"


def init(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="The policy to write; in a folder, policy.yaml.")
    ] = DEFAULT,
    name: Annotated[str | None, typer.Option(help="The policy's name.")] = None,
    owner: Annotated[str | None, typer.Option(help="The team that answers for it.")] = None,
    release: Annotated[
        str | None, typer.Option(help="The vLLM release that you run.", autocompletion=releases)
    ] = None,
    architecture: Annotated[
        list[str] | None,
        typer.Option(help="Whom the rule is about; a name or a glob, repeatable. Without any: every model."),
    ] = None,
    require: Annotated[Runner | None, typer.Option(help="The runner that a first rule requires.")] = None,
    because: Annotated[str | None, typer.Option(metavar="TEXT", help="Why the rule requires it.")] = None,
    link: Annotated[str | None, typer.Option(metavar="URL", help="The evidence.")] = None,
    ci: Annotated[Ci | None, typer.Option(help="Only print a job for this CI; write no policy.")] = None,
    pre_commit: Annotated[
        bool, typer.Option("--pre-commit", help="Only print hooks for pre-commit; write no policy.")
    ] = False,
) -> None:
    """Write a commented first policy with its tests; on a terminal, what no option says is asked.

    A file that exists is left alone (exit 2).
    """
    if ci is not None or pre_commit:
        from runnerctl.cli.snippets import GITHUB, GITLAB, PRE_COMMIT

        wanted = [{Ci.github: GITHUB, Ci.gitlab: GITLAB}[ci]] if ci else []
        typer.echo("\n".join([*wanted, *([PRE_COMMIT] if pre_commit else [])]), nl=False)
        return
    from datetime import date

    from runnerctl.cli.first_policy import first_policy
    from runnerctl.cli.init_answers import Given, answered

    target = Path(path) / "policy.yaml" if Path(path).is_dir() or path.endswith("/") else Path(path)
    if target.exists():
        raise UsageError(f"{target}: it exists, and is left as it is; give another PATH")
    given = Given(name, owner, release, tuple(architecture or ()), require and require.value, because, link)
    answers = answered(given, target, SCHEMA, ask=sys.stdin.isatty() and sys.stderr.isatty())
    _write(target, first_policy(answers, date.today()))


def _write(target: Path, text: str) -> None:
    from policy.document.schema import schema_folder
    from policy.document.source import Source, parse
    from policy.rules.policy_set import read_policy
    from runnerctl.cli.output import write_new

    read_policy(parse(Source(str(target), text)))  # never write what could not be read
    write_new(text, target)
    typer.echo(f"wrote {target}; now: runnerctl test {target}", err=True)
    schema = target.parent / SCHEMA
    if not schema.exists():
        write_new((schema_folder() / SCHEMA).read_text("utf-8"), schema)
        typer.echo(f"wrote {schema}, with which editors check and complete policies", err=True)
