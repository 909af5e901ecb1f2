"""What one release can serve of one deployment with each runner, and what it lacks."""

from __future__ import annotations

from policy.decision.serving import Undecided, refusal, with_switch
from policy.engine.release import RUNNERS, EngineRelease, Runner, worded
from policy.facts.facts import Facts
from policy.upgrade.change import Abilities, Features

__all__ = ["abilities", "changed_features"]


def abilities(engine: EngineRelease, facts: Facts) -> Abilities:
    """For each runner, whether the release can serve `facts` once the switch asks for it."""
    return {runner: _can_serve(engine, runner, facts) for runner in RUNNERS}


def _can_serve(engine: EngineRelease, runner: Runner, facts: Facts) -> bool | None:
    try:
        return refusal(engine, runner, _asked(engine, runner, facts)) is None
    except Undecided:
        return None


def _asked(engine: EngineRelease, runner: Runner, facts: Facts) -> Facts:
    return with_switch(facts, None if engine.switch == "none" else runner)


def changed_features(
    before: EngineRelease, facts_before: Facts, after: EngineRelease, facts_after: Facts
) -> dict[Runner, Features]:
    """What each runner newly supports, and no longer supports, of what this deployment uses."""
    found = {}
    for runner in RUNNERS:
        old = _lacking(before, runner, facts_before)
        new = _lacking(after, runner, facts_after)
        found[runner] = Features(
            tuple(name for name in old if name not in new), tuple(name for name in new if name not in old)
        )
    return found


def _lacking(engine: EngineRelease, runner: Runner, facts: Facts) -> dict[str, None]:
    """What `runner` lacks for certain; a gap that rests on an unknown fact is left out."""
    asked = _asked(engine, runner, facts)
    gaps = (*engine.unsupported[runner], *engine.refused[runner])
    held = [gap for gap in gaps if gap.match.value(asked) is True]
    return dict.fromkeys(worded(gap.feature or gap.message or gap.id, asked) for gap in held)
