"""What a launch will do: the decision, the environment and the command, before anything is done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from policy.compiled.artifact import compile_policy
from policy.decision import Decision, resolve
from policy.decision.resolve import Layers
from policy.engine import EngineRelease, UnknownRelease
from policy.environment import LAYERS, Override, merge_layers
from policy.facts.facts import Facts
from policy.facts.fields import SWITCH
from policy.rules.policy_set import PolicySet
from policy.secret import shown
from runnerctl import __version__
from runnerctl.handover import (
    ATTESTATION_DIR,
    COMPILED_POLICY,
    FACTS,
    PLUGINS,
    PREFIX,
    STRICT_ENV,
    TESTING,
    VERDICT,
    Verdict,
    admit_guard,
    reach_ray,
)
from runnerctl.launch.gather import Gathered
from runnerctl.launch.layers import merged

__all__ = ["Plan", "decide", "make_plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """`environment` is the whole environment of the engine; `before` is this process's own.

    `decision` has status ok, except with `deferred`, where the guard will decide. `guarded` says whether the
    guard is installed where the command runs. `artifact` is the compiled policy that goes to `folder`.
    """

    argv: tuple[str, ...]
    before: Mapping[str, str]
    environment: Mapping[str, str]
    decision: Decision
    overrides: tuple[Override, ...]
    deferred: bool
    guarded: bool
    folder: Path
    artifact: Mapping[str, Any] = field(default_factory=dict)

    @property
    def changes(self) -> dict[str, str]:
        """The variables that the engine will have and this process has not, or has with another value."""
        return {n: v for n, v in sorted(self.environment.items()) if self.before.get(n) != v}

    @property
    def notes(self) -> list[str]:
        """What the operator should read once: every value that was overridden, and every warning."""
        lines = [
            f"{o.name}={shown(o.name, o.value)} from {o.source} overridden by {o.by}" for o in self.overrides
        ]
        return lines if self.deferred else [*lines, *self.decision.warnings]

    @property
    def removed(self) -> list[str]:
        return sorted(set(self.before) - set(self.environment))


def decide(
    policies: PolicySet,
    engine: EngineRelease | UnknownRelease,
    gathered: Gathered,
    layers: Layers,
    names: tuple[str, ...],
    *,
    strict_env: bool,
) -> Decision:
    """The decision for a launch, with each layer of the operator's environment in the record."""
    return resolve(
        policies,
        engine,
        Facts(gathered.document),
        layers=layers,
        names=names,
        reasons=gathered.reasons,
        strict_env=strict_env,
        today=date.today(),
    )


def make_plan(
    argv: tuple[str, ...],
    policies: PolicySet,
    engine: EngineRelease,
    gathered: Gathered,
    layers: Layers,
    names: tuple[str, ...],
    decision: Decision,
    folder: Path,
    *,
    deferred: bool,
    strict_env: bool,
    guarded: bool,
    given: Mapping[str, Any],
) -> Plan:
    """Put the decision into the environment. `given` are the operator's own facts, for a deferred decision."""
    platform = str(gathered.document.get("platform", "cuda"))
    vllm = str(gathered.document["vllm"])
    artifact = compile_policy(
        policies, engine, platform=platform, names=names, vllm=vllm, version=__version__
    )
    # Left over from an outer launch: another engine's policy and verdict are not this one's. A test's hooks are.
    operator = {n: v for n, v in merged(layers).items() if not n.startswith(PREFIX) or n == TESTING}
    if deferred:
        # The guard will see one environment: what its layers replaced among themselves is known only here.
        overrides = merge_layers(
            [(LAYERS[0], policies.env), *layers], forced=None, unset=False, by=""
        ).overrides
        environment = {**policies.env, **operator}
    else:
        environment = {**operator, **decision.env_set}
        for name in decision.env_unset:
            environment.pop(name, None)
        environment[VERDICT] = Verdict.of(decision, environment.get(SWITCH)).to_json()
        overrides = decision.overrides
    environment[COMPILED_POLICY] = str(folder / "policy.json")
    environment[ATTESTATION_DIR] = str(folder)
    if deferred and given:
        environment[FACTS] = json.dumps(given, sort_keys=True)
    if deferred and strict_env:
        environment[STRICT_ENV] = "1"
    overrides += _admit(environment)
    reach_ray(environment)
    return Plan(argv, layers[0][1], environment, decision, overrides, deferred, guarded, folder, artifact)


def _admit(environment: dict[str, str]) -> tuple[Override, ...]:
    before = environment.get(PLUGINS)
    admit_guard(environment)
    after = environment.get(PLUGINS)
    if before is None or before == after:
        return ()
    return (Override(PLUGINS, before, "operator", after, "the guard, which must load"),)
