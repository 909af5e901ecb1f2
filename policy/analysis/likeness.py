"""Which rules ask one and the same question of a release: what it cannot see of a match is left out."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from policy.engine.release import EngineRelease
from policy.rules.match import All, Equal, Leaf, Match

__all__ = ["Likeness", "Seen", "seen"]

NAMES = ("model_config.architectures", "model_config.architecture")


class Seen(NamedTuple):
    """What a release may see of a match at a version that it contains: the one `name` of an architecture, and more."""

    name: str | None
    rest: frozenset[Hashable]


def seen(match: Match) -> Seen | None:
    """None for a match of which that takes more than a look. The match must hold for some deployment.

    Labels hang on nothing, so that they can be what the match wants whatever the other facts are.
    """
    terms = match.terms if isinstance(match, All) else (match,)
    name: str | None = None
    rest: list[Hashable] = []
    names = 0
    for leaf in terms:
        if not isinstance(leaf, Leaf):
            return None
        path, tests = leaf.path, leaf.tests
        if path == "vllm" or path.startswith("labels."):
            continue
        if path in NAMES:
            names += 1
            first = tests[0]
            if (
                path == NAMES[0]
                and len(tests) == 1
                and isinstance(first, Equal)
                and isinstance(first.value, str)
            ):
                name = first.value
                continue
        # `true` and 1 are equal, and are not the same.
        rest.append((path, tests, *[getattr(test, "value", None).__class__ for test in tests]))
    return None if name and names > 1 else Seen(name, frozenset(rest))


class Likeness:
    """Tells matches apart as far as one release does."""

    def __init__(self, engine: EngineRelease) -> None:
        leaves = dict.fromkeys(leaf for match in engine.matches() for leaf in match.leaves())
        self._asks_labels = any(leaf.path.startswith("labels") for leaf in leaves)
        self._of_names = [leaf for leaf in leaves if leaf.path in NAMES]
        self._listed = engine.default_v2_architectures or {}
        self._kinds: dict[str, int] = {}
        self._numbers: dict[Hashable, int] = {}

    def of(self, of_match: Seen) -> Hashable | None:
        """Equal for matches to which the release does the same; None where it looks at more than is seen."""
        if self._asks_labels:
            return None
        name = of_match.name
        return (None if name is None else self._name(name), of_match.rest)

    def _name(self, name: str) -> int:
        """Names to which all that the release asks of names has the same answers can stand for each other."""
        found = self._kinds.get(name)
        if found is None:
            answers = (self._listed.get(name), *(leaf.holds(name) for leaf in self._of_names))
            found = self._kinds[name] = self._numbers.setdefault(answers, len(self._numbers))
        return found
