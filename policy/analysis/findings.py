"""What the analysis finds, as plain values. Reporters word it; nothing here prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from policy.rules.policy_set import Rule

if TYPE_CHECKING:  # the resolver is for those who ask for a witness
    from policy.decision.decision import Decision

# Named tuples, not dataclasses: `lint` pays for the import at every start.

__all__ = [
    "Analysis",
    "Conflict",
    "Cut",
    "Difference",
    "Differences",
    "NeverDecides",
    "Redundant",
    "Undetermined",
    "Unserved",
    "Witness",
]


class Witness(NamedTuple):
    """Concrete facts that show a finding, checked with `resolve` before they were handed out.

    `document` is a facts document (`resolve --facts`). `assume` is the release to decide as where the catalog
    does not describe `document["vllm"]` (`resolve --assume`), else None.
    """

    document: Mapping[str, Any]
    assume: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {"facts": dict(self.document), "assume": self.assume}


class NeverDecides(NamedTuple):
    """A rule that is named as the one that decided by no decision, whatever the facts and the release.

    `why`: `unsatisfiable` (its match never holds) or `shadowed` (wherever it holds, a rule of higher rank decides).
    `by` are rules that together take all of it, none of which could be left out; empty where the operator's
    switch alone does (a `prefer` that only matches where `VLLM_USE_V2_MODEL_RUNNER` is set). `switch` says that
    the switch is needed for it.
    `adds_env` are variables that it still sets where a rule of its own rank that asks for the same runner is
    named as the decider; `clashes` says that it is one side of a conflict (see `Conflict`). A rule with neither
    does nothing at all: taking it away changes no decision.
    """

    rule: Rule
    why: Literal["unsatisfiable", "shadowed"]
    by: tuple[Rule, ...] = ()
    switch: bool = False
    adds_env: tuple[str, ...] = ()
    clashes: bool = False


class Conflict(NamedTuple):
    """Two rules of equal weight that both match somewhere, with nothing of higher rank there, and disagree.

    `code` is the error of the decision for `witness`: `conflicting-rules` (different runners) or
    `conflicting-env` (the same runner, and `variable` is set differently). The decision names both rules unless
    other rules of their rank match wherever these two do. `several` names the lists that must hold two elements
    for it (a model that registers two architectures): empty for an everyday conflict.
    """

    first: Rule
    second: Rule
    code: Literal["conflicting-rules", "conflicting-env"]
    witness: Witness
    variable: str | None = None
    several: tuple[str, ...] = ()


class Redundant(NamedTuple):
    """A rule without which every decision is the same, because the engine does it anyway.

    Asked of every release of the catalog in the rule's range (`releases`): wherever the rule takes part, the
    engine's own choice gives the same status, runner and error codes. `guards_switch`: a `require` for which this
    is so as long as the operator's switch is not set; it still protects against the switch. `beside` are rules that
    overlap with it and decide alike: where it is unknown whether they match, the answer rests on this one.
    """

    rule: Rule
    releases: tuple[str, ...]
    guards_switch: bool
    beside: tuple[Rule, ...] = ()


class Unserved(NamedTuple):
    """A `require` for `v1` or `v2` that releases of its range can never serve, whatever the other facts.

    `always` says that no release of its range can. `features` are vLLM's own words, `sentences` its refusals.
    """

    rule: Rule
    releases: tuple[str, ...]
    always: bool
    features: tuple[str, ...]
    sentences: tuple[str, ...]


class Undetermined(NamedTuple):
    """A rule that asks for facts which no release in its range has: nobody can read them from an engine there.

    `paths` are the facts, `fields` the releases that have each of them (PEP 440). For a document that does not make the
    fact up, and for the guard inside the engine, the match is unknown, or does not hold where vLLM has a default.
    """

    rule: Rule
    paths: tuple[str, ...]
    fields: tuple[str, ...]


class Cut(NamedTuple):
    """What was not analysed exactly, and why. `rules` are those that it concerns; empty: all."""

    what: Literal["never-decides", "conflicts", "engine", "differences", "rules"]
    why: str
    rules: tuple[str, ...] = ()


class Analysis(NamedTuple):
    """Everything that was found in one policy set, each list sorted by the rank of its rules."""

    never_decides: tuple[NeverDecides, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    redundant: tuple[Redundant, ...] = ()
    unserved: tuple[Unserved, ...] = ()
    always_undetermined: tuple[Undetermined, ...] = ()
    cut: tuple[Cut, ...] = ()


class Difference(NamedTuple):
    """Facts that get another decision: `old` and `new` are the decisions for `witness`.

    `old_by` and `new_by` are the ids of the first rules of highest weight that match before and after, None where
    none does. Where only the operator's switch shows the difference, it overrules a `prefer`, and the decision says so.
    """

    old_by: str | None
    new_by: str | None
    witness: Witness
    old: Decision
    new: Decision


class Differences(NamedTuple):
    """`alike` are the ids of rules that changed in what they ask for where no deployment was found whose decision
    changes with it: a `prefer` for V1 in releases that have nothing else."""

    found: tuple[Difference, ...] = ()
    alike: tuple[tuple[str, ...], ...] = ()
    cut: tuple[Cut, ...] = ()
