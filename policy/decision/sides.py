"""Which deployments change sides between two releases, over a small grid of representative ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from policy.decision.resolve import resolve
from policy.engine.release import EngineRelease
from policy.facts.facts import Facts
from policy.facts.fields import SWITCH
from policy.rules.match import Equal
from policy.rules.policy_set import PolicySet

__all__ = ["Crossing", "crossings"]

OTHER = "AnyOtherForCausalLM"
SHAPES: dict[str, dict[str, Any]] = {
    "dense": {},
    "MoE": {"is_moe": True},
    "quantized": {"is_quantized": True},
    "hybrid": {"is_hybrid": True, "has_inner_state": True},
    "pooling": {"runner_type": "pooling"},
}
SWITCHES = (None, "0", "1")
PLATFORMS = ("cuda", "rocm")


@dataclass(frozen=True, slots=True)
class Crossing:
    """Deployments alike in all but their architecture that get another answer: `v1`, `v2` or `refused`."""

    shape: str
    switch: str | None
    platforms: tuple[str, ...]
    before: str
    after: str
    architectures: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "switch": self.switch,
            "platforms": list(self.platforms),
            "from": self.before,
            "to": self.after,
            "architectures": list(self.architectures),
        }


def crossings(before: EngineRelease, after: EngineRelease) -> tuple[Crossing, ...]:
    """The deployments of the grid that change sides, grouped. Architectures are those that either release's rules
    name, and one that none names."""
    names = [OTHER, *sorted(_named(before) | _named(after))]
    found: dict[tuple[str, str | None, tuple[str, ...], str, str], list[str]] = {}
    for shape, switch, name in itertools.product(SHAPES, SWITCHES, names):
        sides = {
            p: (_side(before, p, shape, switch, name), _side(after, p, shape, switch, name))
            for p in PLATFORMS
        }
        for change in dict.fromkeys(sides.values()):
            platforms = tuple(platform for platform, side in sides.items() if side == change)
            if change[0] != change[1]:
                found.setdefault((shape, switch, platforms, *change), []).append(name)
    return tuple(Crossing(*key, tuple(architectures)) for key, architectures in found.items())


def _side(engine: EngineRelease, platform: str, shape: str, switch: str | None, architecture: str) -> str:
    document = {
        "platform": platform,
        "model_config": {"architectures": [architecture], **SHAPES[shape]},
        "env": {} if switch is None else {SWITCH: switch},
    }
    return resolve(PolicySet(), engine, Facts(document)).runner or "refused"


def _named(engine: EngineRelease) -> set[str]:
    return {*(engine.default_v2_architectures or {}), *_compared(engine)}


def _compared(engine: EngineRelease) -> Iterator[str]:
    for match in engine.matches():
        for leaf in match.leaves():
            if leaf.path in ("model_config.architectures", "model_config.architecture"):
                yield from (str(test.value) for test in leaf.tests if isinstance(test, Equal))
