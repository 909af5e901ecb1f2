"""What a rule asks for beside its releases, compared with what another one asks for."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from policy.lint.text import Condition, RuleText

__all__ = ["Conditions", "Nearby"]

# `true` is not 1.
Value = tuple[type, object]


class Conditions:
    """`firm` conditions must hold in every match; those below `any` and `not` need not.

    Built for each rule of a set: what compares them is worked out when it is first asked for.
    """

    def __init__(self, rule: RuleText) -> None:
        self._rule = rule

    @functools.cached_property
    def ranged(self) -> bool:
        """Whether the rule says anything of releases."""
        return any(c.path == "vllm" for c in self._rule.conditions)

    @functools.cached_property
    def firm(self) -> dict[str, frozenset[Value]]:
        """The values of each fact that the whole match is under; empty where it holds for others, too."""
        found: dict[str, frozenset[Value]] = {}
        for condition in self._rule.conditions:
            if condition.path != "vllm" and _is_firm(condition):
                found.setdefault(condition.path, _values(condition.value))
        return found

    @functools.cached_property
    def _all(self) -> frozenset[tuple[object, ...]]:
        """Every condition as it is written, to find the same in another rule; names of firm ones may differ."""
        return frozenset(
            (c.path,) if _is_firm(c) and not _is_open(c.value) else (c.path, repr(c.value), c.negated)
            for c in self._rule.conditions
            if c.path != "vllm"
        )

    def meets(self, other: Conditions) -> bool:
        """Whether one deployment could meet both but for its release."""
        return not any(
            mine and theirs and not mine & theirs
            for path, mine in self.firm.items()
            if (theirs := other.firm.get(path))
        )

    def alike(self, other: Conditions) -> bool:
        """Whether both are about the same deployments, or one about some of the other's."""
        return (self._all <= other._all or other._all <= self._all) and self.meets(other)

    def holds_with(self, other: Conditions) -> bool:
        """Whether all that is asked for here is asked for by the other in the same words."""
        mine = {(c.path, repr(c.value), c.negated, _is_firm(c)) for c in self._rule.conditions}
        return mine <= {(c.path, repr(c.value), c.negated, _is_firm(c)) for c in other._rule.conditions}


class Nearby:
    """Finds those of many rules that may meet another one, without comparing it with each of them."""

    def __init__(self, many: Sequence[Conditions]) -> None:
        self._many = many
        self._with: dict[str, dict[Value, list[int]]] = {}
        self._without: dict[str, list[int]] = {}
        for i, conditions in enumerate(many):
            for path, values in conditions.firm.items():
                by_value = self._with.setdefault(path, {})
                for value in values:
                    by_value.setdefault(value, []).append(i)

    def of(self, other: Conditions) -> Sequence[int]:
        """The indices of all that may meet `other`, and of some that do not, in their order."""
        found: Sequence[int] = range(len(self._many))
        for path, values in other.firm.items():
            if values:
                by_value = self._with.get(path, {})
                sharing = {i for value in values for i in by_value.get(value, ())}
                if len(sharing) + len(self._others(path)) < len(found):
                    found = sorted(sharing.union(self._others(path)))
        return found

    def _others(self, path: str) -> list[int]:
        """Those of which the fact at a path may have any value."""
        if path not in self._without:
            self._without[path] = [i for i, c in enumerate(self._many) if not c.firm.get(path)]
        return self._without[path]


def _is_firm(condition: Condition) -> bool:
    return not {"any", "not"} & set(condition.at[3:-1])


def _is_open(value: object) -> bool:
    """Whether a condition names no values: a comparison, or whether there is one at all."""
    return any(isinstance(v, dict) for v in (value if isinstance(value, list) else [value]))


def _values(value: object) -> frozenset[Value]:
    """The plain values of a condition; empty where it holds for others, too."""
    found = value if isinstance(value, list) else [value]
    plain = all(
        not isinstance(v, dict) and not (isinstance(v, str) and ("*" in v or "?" in v)) for v in found
    )
    return frozenset((type(v), v) for v in found) if plain else frozenset()
