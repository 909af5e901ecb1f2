"""Which rules ask one and the same question of a release: what it cannot see of a match is left out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from policy.engine.release import EngineRelease
from policy.rules.match import All, Equal, Leaf, Match

__all__ = ["Likeness"]

NAMES = ("model_config.architectures", "model_config.architecture")


class Likeness:
    """Tells matches apart as far as one release does."""

    def __init__(self, engine: EngineRelease) -> None:
        leaves = [leaf for match in engine.matches() for leaf in match.leaves()]
        self._asked = {leaf.path for leaf in leaves}
        self._of_names = [leaf for leaf in dict.fromkeys(leaves) if leaf.path in NAMES]
        self._listed = engine.default_v2_architectures or {}
        self._kinds: dict[str, Hashable] = {}

    def of(self, match: Match) -> Hashable | None:
        """Equal for matches to which the release does the same, at one version that they contain; None where that
        takes more than a look. Such a match must hold for some deployment of that version."""
        terms = match.terms if isinstance(match, All) else (match,)
        leaves = [term for term in terms if isinstance(term, Leaf)]
        if len(leaves) != len(terms):
            return None
        alone = sum(leaf.path in NAMES for leaf in leaves) == 1
        return frozenset(
            self._kind(leaf, alone=alone) for leaf in leaves if leaf.path != "vllm" and self._sees(leaf.path)
        )

    def _sees(self, path: str) -> bool:
        """Labels hang on nothing: those that the release does not ask for can be what the rule wants."""
        return not path.startswith("labels.") or path in self._asked

    def _kind(self, leaf: Leaf, *, alone: bool) -> Hashable:
        if alone and leaf.path == NAMES[0] and len(leaf.tests) == 1:
            test = leaf.tests[0]
            if isinstance(test, Equal) and isinstance(test.value, str):
                return leaf.path, self._name(test.value)
        return leaf.path, leaf.tests, _types(leaf)

    def _name(self, name: str) -> Hashable:
        """Names to which all that the release asks of names gives the same answers can stand for each other."""
        if name not in self._kinds:
            held = tuple(leaf.holds(name) for leaf in self._of_names)
            self._kinds[name] = (self._listed.get(name), held)
        return self._kinds[name]


def _types(leaf: Leaf) -> Iterable[type]:
    """`true` and 1 are equal, and are not the same."""
    return tuple(getattr(test, "value", None).__class__ for test in leaf.tests)
