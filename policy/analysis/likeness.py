"""Which rules ask one and the same question of a release: what it cannot see of a match is left out."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from policy.engine.release import EngineRelease
from policy.rules.match import All, Equal, Leaf, Match, Not

__all__ = ["Likeness", "Seen", "seen"]

NAMES = ("model_config.architectures", "model_config.architecture")


class Seen(NamedTuple):
    """What a release may see of a match at a version that it contains: the one `name` of an architecture, and more."""

    name: str | None
    rest: frozenset[Hashable]


def seen(match: Match) -> Seen:
    """What a release may see of a match that holds for some deployment of its version.

    Labels hang on nothing, so that they can be what the match wants whatever the other facts are.
    """
    terms = match.terms if isinstance(match, All) else (match,)
    leaves = [term for term in terms if isinstance(term, Leaf)]
    nested = [term for term in terms if not isinstance(term, Leaf)]
    inner = {leaf.path for term in nested for leaf in term.leaves()}
    naming = [leaf for leaf in leaves if leaf.path in NAMES]
    alone = naming[0] if len(naming) == 1 and inner.isdisjoint(NAMES) else None
    name = None if alone is None or alone.path != NAMES[0] else _one_name(alone)
    rest: list[Hashable] = [_key(term) for term in nested]
    for leaf in leaves:
        path = leaf.path
        if path == "vllm" or (path.startswith("labels.") and path not in inner):
            continue
        if name is None or leaf is not alone:
            rest.append(_key(leaf))
    return Seen(name, frozenset(rest))


def _one_name(leaf: Leaf) -> str | None:
    test = leaf.tests[0]
    wanted = test.value if len(leaf.tests) == 1 and isinstance(test, Equal) else None
    return wanted if isinstance(wanted, str) else None


def _key(match: Match) -> Hashable:
    """Equal for matches that say the same in the same words."""
    if isinstance(match, Leaf):
        # `true` and 1 are equal, and are not the same.
        return (match.path, match.tests, *[getattr(test, "value", None).__class__ for test in match.tests])
    if isinstance(match, Not):
        return Not, _key(match.term)
    return match.__class__, frozenset([_key(term) for term in match.terms])


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
