"""What an upgrade changes for one deployment, as a value and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from policy.decision.decision import Decision
from policy.engine.release import RUNNERS, Runner
from policy.upgrade.keep import Keep
from policy.upgrade.pins import Pin

__all__ = ["KINDS", "Abilities", "Change", "Features", "Kind", "kind_of"]

Kind = Literal["flip", "error", "fixed", "undetermined", "same"]
KINDS: tuple[Kind, ...] = ("flip", "error", "fixed", "undetermined", "same")

# Whether a release can serve the deployment with each runner; None where unknown facts decide.
Abilities = Mapping[Runner, bool | None]


@dataclass(frozen=True, slots=True)
class Features:
    """What one runner serves of this deployment only after, and only before, in vLLM's words."""

    supported: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()

    def as_json(self) -> dict[str, list[str]]:
        return {"supported": list(self.supported), "unsupported": list(self.unsupported)}


@dataclass(frozen=True, slots=True)
class Change:
    """One deployment under the release before and the release after. `keep` is what a policy should pin."""

    name: str
    before: Decision
    after: Decision
    abilities: tuple[Abilities, Abilities] = ({}, {})
    features: Mapping[Runner, Features] = field(default_factory=dict)
    keep: Keep | None = None
    pins: tuple[Pin, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        return kind_of(self.before, self.after)

    @property
    def direction(self) -> str | None:
        """Such as `v1->v2`, where the runner flips."""
        return f"{self.before.runner}->{self.after.runner}" if self.kind == "flip" else None

    @property
    def fails_in_both(self) -> bool:
        return self.before.status == "error" and self.after.status == "error"

    def as_json(self) -> dict[str, Any]:
        """An element of `deployments` in `schemas/upgrade.schema.json`."""
        return {
            "name": self.name,
            "kind": self.kind,
            "direction": self.direction,
            "before": _side_json(self.before, self.abilities[0]),
            "after": _side_json(self.after, self.abilities[1]),
            "features": {r: self.features.get(r, Features()).as_json() for r in RUNNERS},
            "keep": self.keep.as_json() if self.keep else None,
            "pins": [pin.as_json() for pin in self.pins],
            "notes": list(self.notes),
        }


def kind_of(before: Decision, after: Decision) -> Kind:
    """How one decision differs from the other. Failing in both releases is no change."""
    if "undetermined" in (before.status, after.status):
        return "undetermined"
    if before.status != after.status:
        return "error" if after.status == "error" else "fixed"
    return "same" if before.runner == after.runner else "flip"


def _side_json(decision: Decision, abilities: Abilities) -> dict[str, Any]:
    data = decision.shown().as_json()
    kept = ("status", "runner", "vllm", "decided_by", "env", "warnings", "missing_facts", "errors")
    return {**{key: data[key] for key in kept}, "can_serve": {r: abilities.get(r) for r in RUNNERS}}
