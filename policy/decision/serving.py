"""Asks one release about one deployment: its own choice, and whether a runner can serve it."""

from __future__ import annotations

from typing import Literal, NamedTuple

from policy.engine.release import Choice, EngineRelease, Gap, Runner, worded
from policy.facts.facts import ABSENT, UNKNOWN, Facts
from policy.facts.fields import SWITCH
from policy.rules.match import Match, unknown_facts

__all__ = [
    "SWITCH_PATH",
    "SWITCH_VALUES",
    "OwnChoice",
    "Refusal",
    "Switch",
    "Undecided",
    "derived_for",
    "in_default_set",
    "known",
    "override",
    "own_choice",
    "read_switch",
    "refusal",
    "unsupported",
    "with_switch",
]

SWITCH_PATH = f"env.{SWITCH}"
# The values that stand for a runner once vLLM has read them: bool(int(value)).
SWITCH_VALUES: dict[Runner, str] = {"v1": "0", "v2": "1"}


class Undecided(Exception):  # noqa: N818  (not an error: the resolver takes the unknown facts apart and asks again)
    """Unknown facts stand between here and an answer. `paths` are the facts to give, the first asked first."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        super().__init__(", ".join(paths))
        self.paths = paths


def known(match: Match, facts: Facts) -> bool:
    """The value of `match`; raises `Undecided` when it is unknown."""
    held = match.value(facts)
    if held is None:
        raise Undecided(unknown_facts(match, facts))
    return held


class Switch(NamedTuple):
    """The operator's switch as vLLM reads it. `runner` is None when the value is not an integer."""

    raw: str
    runner: Runner | None


def read_switch(facts: Facts) -> Switch | None:
    """The switch of `facts`, or None where it is not set."""
    raw = facts.value(SWITCH_PATH)
    if raw is UNKNOWN:
        raise Undecided((SWITCH_PATH,))
    if raw is ABSENT:
        return None
    try:
        return Switch(raw, "v2" if int(raw) else "v1")
    except ValueError:
        return Switch(raw, None)


def with_switch(facts: Facts, runner: Runner | None) -> Facts:
    """The facts as they will be once the switch asks for `runner`, or is not set (None)."""
    wanted = SWITCH_VALUES[runner] if runner else ABSENT
    if facts.value(SWITCH_PATH) == wanted:
        return facts
    return facts.replace(SWITCH_PATH, SWITCH_VALUES[runner] if runner else None)


class Refusal(NamedTuple):
    """Why a release cannot serve a deployment with a runner, in vLLM's own words."""

    features: tuple[str, ...]
    sentences: tuple[str, ...]


def refusal(engine: EngineRelease, runner: Runner, facts: Facts) -> Refusal | None:
    """What keeps `runner` from serving `facts`, or None. `facts` hold the switch as it will be set."""
    forced = override(engine, facts)
    if forced is not None and forced.runner != runner:
        sentence = forced.refuses_switch or f"{forced.reason}, whatever {SWITCH} says"
        return Refusal((), (sentence,))
    features = unsupported(engine, runner, facts)
    sentences = []
    if features:
        yet = "yet " if runner == "v2" else ""
        sentences.append(f"Model Runner {runner.upper()} does not {yet}support: {', '.join(features)}")
    for gap in engine.gaps[runner][1].candidates(facts):
        if known(gap.match, facts):
            features += (worded(gap.feature, facts),) if gap.feature else ()
            sentences.append(gap.message or "")
    return Refusal(tuple(dict.fromkeys(features)), tuple(sentences)) if sentences else None


def unsupported(engine: EngineRelease, runner: Runner, facts: Facts) -> tuple[str, ...]:
    """vLLM's names of the features in `facts` that `runner` does not support."""
    gaps = engine.gaps[runner][0].candidates(facts)
    return tuple(_feature(gap, facts) for gap in gaps if known(gap.match, facts))


def _feature(gap: Gap, facts: Facts) -> str:
    return worded(gap.feature or gap.id, facts)


def override(engine: EngineRelease, facts: Facts) -> Choice | None:
    """The rule by which the release decides whatever the switch says, if one matches."""
    return next((c for c in engine.choices[0].candidates(facts) if known(c.match, facts)), None)


class OwnChoice(NamedTuple):
    """What the release picks by itself. `accident` is set where something unrelated made the choice."""

    runner: Runner
    rule: str
    reason: str
    accident: bool


def own_choice(engine: EngineRelease, facts: Facts) -> OwnChoice:
    """The release's own choice for `facts`, whose switch is not set."""
    forced = override(engine, facts)
    if forced is not None:
        return OwnChoice(forced.runner, forced.id, forced.reason, accident=False)
    for choice in engine.choices[1].candidates(facts):
        derived = derived_for(choice, engine, facts)
        if known(choice.match, derived):
            reason = _list_features(choice.reason, derived)
            return OwnChoice(choice.runner, choice.id, reason, choice.accident)
    raise AssertionError(f"vLLM {engine.release} has no default choice")


def derived_for(choice: Choice, engine: EngineRelease, facts: Facts) -> Facts:
    """Facts with the derived paths that `choice` asks for, and only those: each may need unknown facts."""
    if not choice.derived:
        return facts
    values: dict[str, object] = {}
    for path in choice.derived:
        if path == "default_v2_architecture":
            values[path] = in_default_set(engine, facts)
        else:
            runner: Literal["v1", "v2"] = "v1" if path.endswith("v1") else "v2"
            values[path] = list(unsupported(engine, runner, facts)) or ABSENT
    return facts.with_derived(values)


def _list_features(reason: str, facts: Facts) -> str:
    if "{unsupported.v2}" not in reason:
        return reason
    return reason.replace("{unsupported.v2}", ", ".join(facts.value("unsupported.v2")))


def in_default_set(engine: EngineRelease, facts: Facts) -> bool:
    """Whether an architecture of the model is in the release's set of V2 architectures on this platform."""
    architectures = facts.value("model_config.architectures")
    if architectures is UNKNOWN:
        raise Undecided(facts.unknown_inputs("model_config.architectures"))
    if architectures is ABSENT:
        return False
    listed = engine.default_v2_architectures or {}
    return any(name in listed and known(listed[name], facts) for name in architectures)
