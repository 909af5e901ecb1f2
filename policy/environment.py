"""The environment of a launched engine: one merge of layers, the forced switch always last.

The first `force_v1_runner` (vLLM PR 43458) built `{"VLLM_USE_V2_MODEL_RUNNER": "0", **env}`, so that whatever
`env` held won over the force. Here the order is data, and nothing can come after `forced`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from policy.facts.fields import SWITCH
from policy.secret import shown

__all__ = ["LAYERS", "Environment", "Override", "merge_layers", "same_variable"]

# Each layer over the one before.
LAYERS = ("policy env", "process environment", "--env-file", "--env", "rule env", "forced switch")


class Override(NamedTuple):
    """A value that a later layer replaced. `replaced_by` is None where the variable is taken away."""

    name: str
    value: str
    source: str
    replaced_by: str | None
    by: str

    def shown(self) -> Override:
        """The same with a secret's values hidden."""
        new = None if self.replaced_by is None else shown(self.name, self.replaced_by)
        return self._replace(value=shown(self.name, self.value), replaced_by=new)

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "value": self.value,
            "source": self.source,
            "replaced_by": self.replaced_by,
            "by": self.by,
        }


class Environment(NamedTuple):
    """The merged variables, which layer each came from, and every value that a later layer replaced."""

    variables: Mapping[str, str]
    sources: Mapping[str, str]
    overrides: tuple[Override, ...] = ()


def same_variable(name: str, other: str) -> bool:
    """Whether two names are spellings of one variable: case and surrounding blanks aside."""
    return name.strip().upper() == other.strip().upper()


def merge_layers(
    layers: Sequence[tuple[str, Mapping[str, str]]], *, forced: str | None, unset: bool, by: str
) -> Environment:
    """Merge `layers`, (name, variables) from the weakest to the strongest, then set or delete the switch.

    `forced` is the value that the decision demands, or None to leave the switch as the layers have it; with
    `unset` it is deleted, not blanked (vLLM raises on a blank). No spelling of the switch in any layer
    survives either. `by` names what demands it, for the record of overrides.
    """
    variables: dict[str, str] = {}
    sources: dict[str, str] = {}
    overrides: list[Override] = []
    for source, layer in layers:
        for name, value in layer.items():
            if name in variables and variables[name] != value:
                overrides.append(Override(name, variables[name], sources[name], value, source))
            variables[name], sources[name] = value, source
    if forced is None and not unset:
        return Environment(variables, sources, tuple(overrides))
    # Layers below have replaced each other's value of the switch; what counts is that each lost to the force.
    overrides = [o for o in overrides if not same_variable(o.name, SWITCH)]
    for source, layer in layers:
        for name, value in layer.items():
            if same_variable(name, SWITCH) and (value != forced or name != SWITCH):
                overrides.append(Override(name, value, source, forced, by))
    for name in [n for n in variables if same_variable(n, SWITCH)]:
        del variables[name], sources[name]
    if forced is not None:
        variables[SWITCH], sources[SWITCH] = forced, LAYERS[-1]
    return Environment(variables, sources, tuple(overrides))
