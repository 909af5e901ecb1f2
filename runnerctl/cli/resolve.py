"""`runnerctl resolve`: which runner a deployment gets, who decided it and why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runnerctl.cli.exits import UsageError, exit_code_of
from runnerctl.cli.formats import Format

if TYPE_CHECKING:
    from policy.decision import Decision
    from policy.decision.resolve import Layers
    from policy.engine import EngineRelease, UnknownRelease
    from policy.facts.facts import Facts
    from policy.rules.policy_set import PolicySet


def resolve(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- vllm serve MODEL ARGS...]", help="The deployment's command."),
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option("--policy", "-p", help="A policy file or folder; repeatable.")
    ] = None,
    no_policy: Annotated[bool, typer.Option("--no-policy", help="Ask the engine catalog alone.")] = False,
    vllm: Annotated[
        str | None, typer.Option(help="The vLLM release; without it, the one installed here.")
    ] = None,
    facts: Annotated[
        str | None, typer.Option(help="A facts file (YAML or JSON); `-` is standard input.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="One fact; repeatable.")
    ] = None,
    batch: Annotated[
        str | None, typer.Option(help="JSON lines {id, vllm, facts}; `-` is standard input.")
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.text,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show every rule that was looked at, and why.")
    ] = False,
    strict_env: Annotated[
        bool, typer.Option("--strict-env", help="Overriding the operator's switch is an error.")
    ] = False,
    assume: Annotated[
        str | None, typer.Option(help="Decide as this release where the catalog does not know VLLM.")
    ] = None,
    catalog: Annotated[str | None, typer.Option(metavar="DIR", help="Another engine catalog.")] = None,
) -> None:
    """Decide which model runner a deployment gets."""
    from runnerctl.cli.inputs import open_catalog, read_policies

    policies = read_policies(policy or [], no_policy=no_policy)
    releases = open_catalog(catalog)
    if batch is not None:
        if command or facts or set_ or explain:
            raise UsageError(
                "--batch takes its facts from its lines; it goes without --facts, --set, --explain and a command"
            )
        from runnerctl.cli.batch import run_batch

        raise typer.Exit(run_batch(batch, policies, releases, vllm, assume, strict_env=strict_env))

    question = _facts_of(command or [], facts, set_ or [], vllm, releases)
    version = question.document.get("vllm")
    engine = None if version is None else releases.find(version, assume)
    names = releases.names_of(engine) if policies.rules else ()
    decision = _decide(policies, engine, question, names, strict_env=strict_env)
    _print(decision, policies, engine, question.facts, format_, explain=explain)
    raise typer.Exit(exit_code_of(decision.status))


class _Deployment:
    """The facts of the one deployment that was asked about, why some are unknown, and its environment's layers."""

    def __init__(
        self, document: dict[str, Any], reasons: dict[str, str], layers: Layers | None = None
    ) -> None:
        from policy.facts.facts import Facts

        self.document = document
        self.reasons = reasons
        self.layers = layers
        self.facts: Facts = Facts(document)


def _facts_of(
    command: list[str], file: str | None, settings: list[str], vllm: str | None, catalog: Any
) -> _Deployment:
    from policy.facts.facts import merge_facts
    from policy.facts.reading import Reading
    from runnerctl.cli.inputs import read_facts_file, read_settings

    if not (command or file or settings):
        raise UsageError("nothing to resolve: give --facts FILE, --set PATH=VALUE or a command after `--`")
    given = [read_facts_file(file)] if file else []
    given.append(read_settings(settings))
    if vllm is not None:
        given.append(Reading({"vllm": vllm}))
    if not command:
        document, reasons = merge_facts([Reading(_release_here(given)), *given])
        if "model_config" not in document:
            typer.echo(
                "note: no fact of model_config is given, so this is about an engine without a model", err=True
            )
        return _Deployment(document, reasons)
    from runnerctl.cli.gathering import gather_command

    found, layers = gather_command(command, given, catalog)
    return _Deployment(found.document, dict(found.reasons), layers)


def _release_here(given: list[Any]) -> dict[str, Any]:
    """The release installed here, for facts that name none; nothing where vLLM is not installed."""
    if any("vllm" in reading.facts for reading in given):
        return {}
    from policy.facts.installation import read_installation

    release = read_installation(None).release
    return {"vllm": release} if release else {}


def _decide(
    policies: PolicySet,
    engine: EngineRelease | UnknownRelease | None,
    question: _Deployment,
    names: tuple[str, ...],
    *,
    strict_env: bool,
) -> Decision:
    from datetime import date

    from policy.decision import resolve as decide

    return decide(
        policies,
        engine,
        question.facts,
        layers=question.layers,
        names=names,
        reasons=question.reasons,
        strict_env=strict_env,
        today=date.today(),
    )


def _print(
    decision: Decision,
    policies: PolicySet,
    engine: EngineRelease | UnknownRelease | None,
    facts: Facts,
    format_: Format,
    *,
    explain: bool,
) -> None:
    from policy.engine import EngineRelease as Known

    looked = []
    if explain and isinstance(engine, Known):
        from policy.decision.explain import explain as look

        looked = look(policies, engine, facts)
    if format_ is Format.json:
        extra = {"explanation": [item.as_json() for item in looked]} if explain else {}
        typer.echo(json.dumps({**decision.as_json(), **extra}, indent=2))
        return
    from runnerctl.cli.decision_text import decision_text, explanation_text

    typer.echo(decision_text(decision), nl=False)
    if looked:
        typer.echo(explanation_text(looked), nl=False)
