"""The values of an unknown fact that the matches in play can tell apart, and whether they are all of them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, pairwise, permutations, product
from typing import Any

from policy.decision.serving import SWITCH_PATH, SWITCH_VALUES
from policy.facts.fields import OPEN_MAPPINGS, Field
from policy.rules.match import MOST_EXACT, Compare, Differs, Equal, Glob, Release, Test, is_glob

__all__ = ["Values", "values_of"]

# Stands for every value that no rule names; also what fills the stars of a pattern.
UNNAMED = "SomeValueThatNoRuleNames"
# Of so many names every combination in one list is tried.
MOST_NAMES = 6


@dataclass(frozen=True, slots=True)
class Values:
    """`complete` is false where another value might be told apart too: then equal answers prove nothing."""

    tried: tuple[Any, ...]
    complete: bool


def values_of(path: str, known: Field | None, tests: Sequence[Test]) -> Values:
    """Every value of the fact behaves under `tests` like one of these, if they are complete."""
    types = set(known.types) if known else {"string", "null"}
    named = list(
        dict.fromkeys(t.value for t in tests if isinstance(t, (Equal, Differs)) and not is_glob(t.value))
    )
    globs = list(dict.fromkeys(_patterns(tests)))
    if known and known.enum:
        return Values((*(v for v in known.enum if v is not None), *_nothing(path, types)), complete=True)
    found: list[Any] = []
    complete = not any(isinstance(t, Release) for t in tests)
    if "array" in types:
        lists = _lists(named, globs)
        found += lists.tried
        complete = complete and lists.complete
    if "boolean" in types:
        found += [False, True]
    if types & {"integer", "number"}:
        found += _numbers(named, tests, whole="number" not in types)
    if "string" in types:
        texts = _texts(tuple(v for v in named if isinstance(v, str)), tuple(globs))
        found += texts.tried
        complete = complete and texts.complete
        found += [v for t in tests if isinstance(t, Release) for v in _versions(t)]
        found += SWITCH_VALUES.values() if path == SWITCH_PATH else ()
    return Values((*found, *_nothing(path, types)), complete)


def _patterns(tests: Sequence[Test]) -> Iterator[str]:
    for test in tests:
        if isinstance(test, Glob):
            yield test.pattern
        elif isinstance(test, Differs) and is_glob(test.value):
            yield test.value


def _nothing(path: str, types: set[str]) -> tuple[None, ...]:
    return (None,) if "null" in types or path.partition(".")[0] in OPEN_MAPPINGS else ()


def _numbers(named: Sequence[Any], tests: Sequence[Test], *, whole: bool) -> list[float]:
    """Each bound, what lies just beside it, and what lies between two of them."""
    bounds = {t.bound for t in tests if isinstance(t, Compare)}
    bounds |= {v for v in named if isinstance(v, (int, float)) and not isinstance(v, bool)}
    ends = sorted(bounds | {1})
    beside: list[float] = [end + step for end in ends for step in (-1, 0, 1)]
    if not whole:
        beside += [(low + high) / 2 for low, high in pairwise(ends) if max(abs(low), abs(high)) < MOST_EXACT]
    return [int(v) if isinstance(v, float) and v.is_integer() else v for v in sorted(set(beside))]


@functools.lru_cache(maxsize=256)
def _texts(named: tuple[str, ...], globs: tuple[str, ...]) -> Values:
    """The names, a text that is none of them, and for patterns texts in every combination that may exist.

    Remembered: there are thousands of combinations, and the deployments of a fleet lack the same facts.
    """
    tried = list(dict.fromkeys([*named, UNNAMED, *_samples(globs)]))
    reached = {_signature(text, globs) for text in tried if text not in named}
    possible = {s for s in product((False, True), repeat=min(len(globs), 12)) if _may_exist(s, globs)}
    return Values(tuple(tried), complete=len(globs) <= 12 and possible <= reached)


def _samples(globs: Sequence[str]) -> Iterator[str]:
    """Texts that match a pattern, filled with nothing and with something, alone and together with others."""
    for some in chain(*(permutations(globs, n) for n in (1, 2, 3) if len(globs) ** n <= 1000)):
        text = "*"
        for glob in some:  # each fills the first star of the one before: `a*` and `*b` give `ab`
            text = text.replace("*", glob, 1)
        yield text.replace("*", "").replace("?", "x")
        yield text.replace("*", UNNAMED).replace("?", "x")


def _signature(text: str, globs: Sequence[str]) -> tuple[bool, ...]:
    return tuple(Glob(glob).holds(text) for glob in globs)


def _may_exist(signature: Sequence[bool], globs: Sequence[str]) -> bool:
    """False only where two patterns that must both match begin or end differently."""
    wanted = [glob for glob, held in zip(globs, signature, strict=False) if held]
    return not any(_apart(a, b) for a, b in combinations(wanted, 2))


def _apart(one: str, other: str) -> bool:
    heads = [re.split(r"[*?]", glob, maxsplit=1)[0] for glob in (one, other)]
    tails = [re.split(r"[*?]", glob)[-1] for glob in (one, other)]
    begins = heads[0].startswith(heads[1]) or heads[1].startswith(heads[0])
    ends = tails[0].endswith(tails[1]) or tails[1].endswith(tails[0])
    return not (begins and ends)


def _lists(named: Sequence[Any], globs: Sequence[str]) -> Values:
    """Lists of every combination of the names; of many names only each one and each pair, which is not all.

    The first element counts too (`model_config.architecture`), so each comes first once.
    """
    names = [*named, *dict.fromkeys(_samples(globs))]
    sizes = range(len(names) + 1) if len(names) <= MOST_NAMES else range(3)
    lists: list[list[Any]] = [[UNNAMED]]
    for size in sizes:
        for some in combinations(names, size):
            lists += [[first, *(s for s in some if s != first)] for first in some] or [[]]
            lists.append([UNNAMED, *some])
    complete = len(names) <= MOST_NAMES and len(globs) <= 1
    return Values(tuple(lists), complete)


def _versions(test: Release) -> Iterator[str]:
    """Versions at and around the ends of a specifier. They never prove that there is no other."""
    yield from ("0", "99999")
    for version in re.findall(r"[0-9][0-9A-Za-z.+!]*", test.specifier):
        yield from (f"{version}.dev0", version, f"{version}.1")
