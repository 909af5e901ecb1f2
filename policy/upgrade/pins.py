"""Rules of the policy that rot in the release after: dead, unsatisfiable, or no longer needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from policy.decision.serving import Undecided, own_choice, refusal, with_switch
from policy.engine.release import EngineRelease, Runner
from policy.facts.facts import Facts
from policy.facts.fields import field_paths
from policy.rules.policy_set import PolicySet, Rule

__all__ = ["Pin", "State", "dead_rules", "pins_that_rot"]

State = Literal["dead", "unsatisfiable", "redundant"]
Asked = tuple[EngineRelease, Facts]


@dataclass(frozen=True, slots=True)
class Pin:
    """A rule for one runner, and what becomes of it in the release after."""

    rule: str
    location: str
    enforce: str
    runner: str
    state: State
    message: str

    def as_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "location": self.location,
            "enforce": self.enforce,
            "runner": self.runner,
            "state": self.state,
            "message": self.message,
        }


def pins_that_rot(policies: PolicySet, before: Asked, after: Asked) -> Iterator[Pin]:
    """The rules that matched the deployment before and no longer do their work after."""
    for rule in policies.rules:
        if rule.runner == "engine":
            continue
        try:
            found = _state(rule, rule.runner, before, after)
        except Undecided:
            continue  # an unknown fact decides: the decision itself says which
        if found:
            yield _pin(rule, *found)


def _state(rule: Rule, runner: Runner, before: Asked, after: Asked) -> tuple[State, str] | None:
    release = after[0].release
    matched, matches = rule.match.value(before[1]), rule.match.value(after[1])
    if matched is True and matches is False:
        return "dead", f"it matched under {before[0].release} and does not under {release}"
    if matches is not True:
        return None
    lacking = _refused(runner, after)
    if lacking and not (matched and _refused(runner, before)):
        return "unsatisfiable", f"vLLM {release} cannot serve {runner} here: {lacking}"
    if lacking is None and matched and _picks(runner, after) and not _picks(runner, before):
        return "redundant", f"vLLM {release} picks {runner} by itself; {before[0].release} did not"
    return None


def _refused(runner: Runner, asked: Asked) -> str | None:
    engine, facts = asked
    found = refusal(engine, runner, with_switch(facts, None if engine.switch == "none" else runner))
    return " ".join(found.sentences) if found else None


def _picks(runner: Runner, asked: Asked) -> bool:
    """Whether the release picks `runner` by itself, and not by an accident."""
    choice = own_choice(asked[0], with_switch(asked[1], None))
    return choice.runner == runner and not choice.accident


def dead_rules(policies: PolicySet, before: str, after: str) -> Iterator[Pin]:
    """The rules that could match some deployment of the release before, and none of the release after."""
    for rule in policies.rules:
        if rule.match.value(_any_deployment(before)) is not False and (
            rule.match.value(_any_deployment(after)) is False
        ):
            yield _pin(rule, "dead", f"no deployment of vLLM {after} can match it")


def _any_deployment(release: str) -> Facts:
    unknown = [path for path in field_paths() if "." not in path and path not in ("vllm", "unknown")]
    return Facts({"vllm": release, "unknown": unknown})


def _pin(rule: Rule, state: State, message: str) -> Pin:
    return Pin(rule.id, rule.location, rule.enforce, rule.runner, state, message)
