"""Changes of a policy document: its rules, and the variables that it sets. What only people read is left alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from policy.mutation.change import Change, inside, without
from policy.mutation.conditions import match_changes

__all__ = ["policy_changes"]

RUNNERS = ("v1", "v2", "engine")


def policy_changes(data: Mapping[str, Any]) -> Iterator[Change]:
    """Every change of a checked policy document, in the order of their places."""
    rules: Sequence[Mapping[str, Any]] = data["rules"]
    for i, rule in enumerate(rules):
        yield Change(("rules", i), f"rule `{rule['id']}` is taken away", {**data, "rules": without(rules, i)})
        others = {r.get("priority", 0) for r in rules if r is not rule and _is_preference(r)}
        yield from inside(data, "rules", inside(rules, i, _distinct(_rule(rule, others))))
    if "env" in data:
        yield from inside(data, "env", _env(data["env"]))


def _distinct(changes: Iterable[Change]) -> Iterator[Change]:
    """Each change once: there may be two ways to say it."""
    seen: set[str] = set()
    for change in changes:
        key = json.dumps(change.value, sort_keys=True)
        if key not in seen:
            seen.add(key)
            yield change


def _is_preference(rule: Mapping[str, Any]) -> bool:
    return bool(rule.get("enforce", "prefer") == "prefer")


def _rule(rule: Mapping[str, Any], priorities: set[int]) -> Iterator[Change]:
    yield from inside(rule, "match", match_changes(rule["match"]))
    for runner in RUNNERS:
        if runner != rule["runner"]:
            yield Change(("runner",), f"`{rule['runner']}` becomes `{runner}`", {**rule, "runner": runner})
    enforce = "require" if _is_preference(rule) else "prefer"
    yield Change(("enforce",), f"it becomes a `{enforce}`", {**rule, "enforce": enforce})
    if _is_preference(rule) and "priority" in rule:
        for priority in _priorities(rule["priority"], priorities):
            said = f"`{rule['priority']}` becomes `{priority}`"
            yield Change(("priority",), said, {**rule, "priority": priority})
    if "expires" in rule:
        yield from _expires(rule)
    if "env" in rule:
        yield from inside(rule, "env", _env(rule["env"]))


def _priorities(own: int, others: set[int]) -> Iterator[int]:
    """A priority for each other order that the rule can have among the rest: a number by itself means nothing."""

    def order(priority: int) -> tuple[int, ...]:
        return tuple((priority > other) - (priority < other) for other in sorted(others))

    seen = {order(own)}
    near = (
        step for other in sorted(others, key=lambda o: abs(o - own)) for step in (other, other - 1, other + 1)
    )
    for priority in near:
        if order(priority) not in seen:
            seen.add(order(priority))
            yield priority


def _expires(rule: Mapping[str, Any]) -> Iterator[Change]:
    yield Change(("expires",), "it is taken away", without(rule, "expires"))
    day = date.fromisoformat(rule["expires"])
    for step in (-1, 1):
        other = (day + timedelta(days=step)).isoformat()
        yield Change(("expires",), f"`{day}` becomes `{other}`", {**rule, "expires": other})


def _env(env: Mapping[str, str]) -> Iterator[Change]:
    for name, value in env.items():
        yield Change((name,), "it is taken away", without(env, name))
        yield Change((name,), "it gets another value", {**env, name: f"{value}-other"})
