"""From a request to a plan: command → facts → decision → environment. Starts and writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from policy.decision import Decision
from policy.engine import Catalog, EngineRelease
from policy.facts.facts import merge_facts
from policy.facts.installation import Installation
from policy.facts.reading import Reading
from policy.rules.policy_set import PolicySet
from runnerctl.launch.command import read_command
from runnerctl.launch.gather import gather, installation_of
from runnerctl.launch.layers import merged, operator_layers
from runnerctl.launch.plan import Plan, decide, make_plan
from runnerctl.launch.start import StartError, default_folder, find_program

__all__ = ["Request", "prepare"]


# Facts that a launch brings about or finds, and that saying otherwise would not change.
NOT_GIVEN = {
    "env": "the engine would not get the variable; set it with --env",
    "vllm": "the release is the one installed where the command runs; --assume decides as another",
}


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that a launch was asked for. `process` is the environment of this process."""

    words: Sequence[str]
    policies: PolicySet
    catalog: Catalog
    process: Mapping[str, str]
    env_files: Sequence[str] = ()
    settings: Sequence[str] = ()
    given: Sequence[Reading] = ()
    folder: Path | None = None
    assume: str | None = None
    defer: bool = False
    strict_env: bool = False


def prepare(request: Request) -> Plan | Decision:
    """The plan, or the decision that keeps the engine from starting. Raises `InputError`."""
    for name, instead in NOT_GIVEN.items():
        if any(name in reading.facts for reading in request.given):
            raise StartError(f"`{name}` cannot be given to a launch: {instead}")
    command = read_command(request.words)
    layers = operator_layers(request.process, command, request.env_files, request.settings)
    environment = merged(layers)
    find_program(command.argv[0], environment)
    installation = installation_of(command, environment)
    release = _release_of(installation)
    engine = request.catalog.find(release, request.assume)
    gathered = gather(
        command,
        environment,
        release,
        request.catalog,
        installation=installation,
        given=request.given,
        online=True,
    )
    known = isinstance(engine, EngineRelease)
    names = request.catalog.names_of(engine)
    decision = decide(request.policies, engine, gathered, layers, names, strict_env=request.strict_env)
    may_start = decision.status == "ok" or (request.defer and known and decision.status == "undetermined")
    if not may_start or not isinstance(engine, EngineRelease):
        return decision
    operator_facts, _ = merge_facts(request.given)
    return make_plan(
        command.argv,
        request.policies,
        engine,
        gathered,
        layers,
        names,
        decision,
        (request.folder or default_folder(request.process)).absolute(),
        deferred=request.defer,
        strict_env=request.strict_env,
        given=operator_facts,
        guarded=installation.has_guard,
    )


def _release_of(installation: Installation) -> str:
    if installation.release is None:
        raise StartError(f"no vLLM is installed for {installation.python}, where this command would run")
    return installation.release
