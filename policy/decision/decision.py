"""The answer for one set of facts, as a value and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from policy.engine.release import Runner
from policy.environment import Override
from policy.secret import shown

__all__ = ["DecidedBy", "Decision", "Failure", "Layer", "Status"]

Status = Literal["ok", "error", "undetermined"]
Layer = Literal["policy", "environment", "engine"]


class DecidedBy(NamedTuple):
    """Who decided: a policy rule, the operator's switch, or the release itself."""

    layer: Layer
    rule: str | None = None
    policy: str | None = None
    location: str | None = None
    enforce: str | None = None
    reason: str = ""
    because: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "layer": self.layer,
            "rule": self.rule,
            "policy": self.policy,
            "location": self.location,
            "enforce": self.enforce,
            "reason": self.reason,
            "because": list(self.because),
        }


class Failure(NamedTuple):
    """Why there is no runner. `features` are vLLM's own words for what the runner does not support."""

    code: str
    message: str
    features: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "features": list(self.features)}


class Decision(NamedTuple):
    """The decision of one deployment. `env_set` and `env_unset` are what must be changed to get it."""

    status: Status
    vllm: str | None
    runner: Runner | None = None
    decided_by: DecidedBy | None = None
    env_set: Mapping[str, str] = MappingProxyType({})
    env_unset: tuple[str, ...] = ()
    default_v2_architectures: tuple[str, ...] | None = None
    overrides: tuple[Override, ...] = ()
    warnings: tuple[str, ...] = ()
    missing_facts: tuple[str, ...] = ()
    errors: tuple[Failure, ...] = ()

    def shown(self) -> Decision:
        """The decision as people and log files may see it: values of variables that look like secrets are hidden."""
        return self._replace(
            env_set={name: shown(name, value) for name, value in self.env_set.items()},
            overrides=tuple(o.shown() for o in self.overrides),
        )

    @property
    def answer(self) -> tuple[Any, ...]:
        """What two decisions must share to be the same answer."""
        return (self.status, self.runner, tuple(sorted(self.env_set.items())), self.env_unset)

    def as_json(self) -> dict[str, Any]:
        """The JSON object of `schemas/decision.schema.json`. What is to be set is given as it is to be set, also a secret:
        whoever sets what they read here must not set `****`. What was overridden is only told, and hidden."""
        architectures = self.default_v2_architectures
        return {
            "status": self.status,
            "runner": self.runner,
            "vllm": self.vllm,
            "decided_by": self.decided_by.as_json() if self.decided_by else None,
            "env": {"set": dict(self.env_set), "unset": list(self.env_unset)},
            "default_v2_architectures": None if architectures is None else list(architectures),
            "overrides": [o.shown().as_json() for o in self.overrides],
            "warnings": list(self.warnings),
            "missing_facts": list(self.missing_facts),
            "errors": [e.as_json() for e in self.errors],
        }
