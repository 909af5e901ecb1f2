"""What `launch` hands to the guard: the names of environment variables, and the verdict that they carry.

The names begin with RUNNERCTL_, not VLLM_: vLLM warns of VLLM_ variables that it does not know.
"""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from dataclasses import asdict, dataclass
from typing import Any

from policy.decision.decision import Decision
from policy.engine.release import Runner

__all__ = [
    "ATTESTATION_DIR",
    "COMPILED_POLICY",
    "FACTS",
    "PLUGINS",
    "PREFIX",
    "RAY_PREFIXES",
    "STRICT_ENV",
    "TESTING",
    "VERDICT",
    "Verdict",
    "admit_guard",
    "reach_ray",
]

PREFIX = "RUNNERCTL_"
COMPILED_POLICY = "RUNNERCTL_COMPILED_POLICY"  # path of the artifact; nothing happens where it is not set
ATTESTATION_DIR = "RUNNERCTL_ATTESTATION_DIR"  # folder of the records
VERDICT = "RUNNERCTL_VERDICT"  # JSON of a Verdict; absent while the decision is deferred
# JSON of facts that only the operator knows (labels, --set), for a deferred decision.
FACTS = "RUNNERCTL_FACTS"
STRICT_ENV = "RUNNERCTL_STRICT_ENV"  # 1: --strict-env, for a deferred decision
TESTING = "RUNNERCTL_TESTING"  # JSON of the hooks that a test wants in its workers; a launch passes it on
RAY_PREFIXES = "VLLM_RAY_EXTRA_ENV_VAR_PREFIXES_TO_COPY"
PLUGINS = "VLLM_PLUGINS"  # vLLM's allow-list of plugins
GUARD = "runnerctl"  # the name of our entry point in vllm.general_plugins


def admit_guard(environment: MutableMapping[str, str]) -> None:
    """Where plugins are restricted, the guard must be among those that may load."""
    allowed = environment.get(PLUGINS)
    if allowed is not None and GUARD not in allowed.split(","):
        environment[PLUGINS] = f"{allowed},{GUARD}" if allowed else GUARD


def reach_ray(environment: MutableMapping[str, str]) -> None:
    """Ray workers inherit only variables that vLLM copies: ours have to be among them."""
    prefixes = environment.get(RAY_PREFIXES, "")
    if PREFIX not in prefixes.split(","):
        environment[RAY_PREFIXES] = f"{prefixes},{PREFIX}" if prefixes else PREFIX


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision as every process of one engine must see it.

    `switch` is the value of VLLM_USE_V2_MODEL_RUNNER that the decision rests on; None means not set.
    """

    runner: Runner
    switch: str | None
    layer: str
    rule: str | None
    location: str | None
    reason: str
    install_architectures: bool

    @classmethod
    def of(cls, decision: Decision, switch: str | None) -> Verdict:
        """The verdict of a decision with status ok."""
        by = decision.decided_by
        if decision.runner is None or by is None:
            raise ValueError("only a decision with a runner can be handed over")
        # Where the release chooses by itself it must see its own set, not the policy's.
        own = by.layer == "engine" or switch is None
        return cls(decision.runner, switch, by.layer, by.rule, by.location, by.reason, not own)

    @classmethod
    def from_json(cls, text: str) -> Verdict:
        data: dict[str, Any] = json.loads(text)
        return cls(**data)

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def who(self) -> str:
        """Who decided, for messages."""
        if self.layer == "policy":
            return f"rule `{self.rule}` ({self.location})"
        if self.layer == "environment":
            return f"the operator's switch ({self.reason})"
        return f"the release's own choice ({self.reason})"
