"""What rules ask for at a deployment, in so far as it makes a difference; names and order of rules do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from policy.decision.decision import Decision
from policy.facts.facts import Facts
from policy.rules.match import Leaf, Match, Not
from policy.rules.policy_set import PolicySet, Rule

__all__ = ["asked", "changed", "deciding", "meaning"]


def meaning(decision: Decision, facts: Mapping[str, Any]) -> tuple[Any, ...]:
    """What two decisions for `facts` must share to be the same: status, runner, the environment that the engine gets,
    and codes of errors. Not who decided, nor in which words; nor whether a variable had the value before."""
    env = {**(facts.get("env") or {}), **decision.env_set}
    for name in decision.env_unset:
        env.pop(name, None)
    codes = tuple(error.code for error in decision.errors)
    return (decision.status, decision.runner, tuple(sorted(env.items())), codes)


def asked(deciding: Sequence[Rule]) -> Hashable:
    """What rules that decide together ask for: rank and the code of their conflict, or rank, runner and variables.

    The rank counts also where they conflict: the operator's switch settles what is only preferred.
    """
    if not deciding:
        return None
    first = deciding[0]
    if any(rule.runner != first.runner for rule in deciding):
        return (first.enforce, "conflicting-rules")
    env: dict[str, str] = {}
    for rule in deciding:
        for name, value in rule.env.items():
            if env.setdefault(name, value) != value:
                return (first.enforce, "conflicting-env")
    return (first.enforce, first.runner, frozenset(env.items()))


def deciding(policies: PolicySet, facts: Facts) -> list[Rule]:
    """The rules that match with the highest weight, which decide together unless the operator's switch does."""
    matching = [rule for rule in policies.rules if rule.match.value(facts)]
    if not matching:
        return []
    first = matching[0]
    same = [rule for rule in matching if rule.enforce == first.enforce]
    return same if first.enforce == "require" else [r for r in same if r.priority == first.priority]


def changed(old: PolicySet, new: PolicySet) -> tuple[list[Rule], list[Rule]]:
    """The rules of each set that the other does not have, whatever their names, order and reasons."""
    ours, theirs = ([(_key(rule), rule) for rule in some.rules] for some in (old, new))
    return _without(ours, theirs), _without(theirs, ours)


def _without(some: Sequence[tuple[Hashable, Rule]], others: Sequence[tuple[Hashable, Rule]]) -> list[Rule]:
    left = Counter(key for key, _ in others)
    found = []
    for key, rule in some:
        if left[key]:
            left[key] -= 1
        else:
            found.append(rule)
    return found


def _key(rule: Rule) -> Hashable:
    priority = rule.priority if rule.enforce == "prefer" else 0
    return (_shape(rule.match), rule.runner, rule.enforce, priority, frozenset(rule.env.items()))


def _shape(match: Match) -> Hashable:
    """The match without the order in which it is written."""
    if isinstance(match, Leaf):
        return (match.path, frozenset((type(test).__name__, test, _type_of(test)) for test in match.tests))
    if isinstance(match, Not):
        return ("not", _shape(match.term))
    return (type(match).__name__, frozenset(_shape(term) for term in match.terms))


def _type_of(test: object) -> str:
    return type(getattr(test, "value", None)).__name__  # `true` and 1 are equal to Python
