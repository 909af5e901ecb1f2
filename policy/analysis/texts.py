"""Texts as an axis: a representative for every set of names and globs that some text can satisfy and no more.

Globs are followed together, letter by letter, as one automaton; only letters that they wait for matter, and one
that stands for all others. What is reached is exactly what exists, each with a shortest text that shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

__all__ = ["TooManyTexts", "text_classes"]

MOST_STATES = 20_000
# Letters for what no glob names, the nicest first.
FILLERS = "xyzqwkvj0123456789XYZQ~^§"


class TooManyTexts(Exception):  # noqa: N818  (the caller says which rules are left out)
    """The globs overlap in more ways than are worth following."""


def text_classes(names: Iterable[str], globs: Iterable[str], prefer: str | None = None) -> list[str]:
    """One text for each way in which texts can satisfy `names` (equality) and `globs`; the names come first.

    `prefer` is returned for its own class where it is none of the names. Raises `TooManyTexts`.
    """
    named, patterns = list(dict.fromkeys(names)), list(dict.fromkeys(globs))
    taken = frozenset(named)
    if not patterns:
        other = prefer if prefer is not None and prefer not in taken else _unnamed(taken)
        return [*named, other]
    reached = _prefixed(patterns) if all(_is_prefix(p) for p in patterns) else _followed(patterns)
    found: list[str] = []
    for accepted, texts in reached:
        free = next((t for t in texts if t not in taken), None)
        if free is None:
            free = _another(accepted, patterns, texts[0], taken)
        if free is not None:
            found.append(free)
    if prefer is not None and prefer not in taken:
        mine = _satisfied(prefer, patterns)
        found = [t for t in found if _satisfied(t, patterns) != mine]
        found.insert(0, prefer)
    return [*named, *found]


def _unnamed(taken: frozenset[str]) -> str:
    text = "other"
    while text in taken:
        text += "-"
    return text


def _is_prefix(glob: str) -> bool:
    return glob.endswith("*") and "*" not in glob[:-1] and "?" not in glob


def _prefixed(globs: list[str]) -> list[tuple[frozenset[int], list[str]]]:
    """Patterns that only say how a text begins: each beginning is a way of its own, and to begin otherwise."""
    heads = {glob[:-1]: i for i, glob in enumerate(globs)}
    found = []
    for head in heads:
        accepted = frozenset(i for other, i in heads.items() if head.startswith(other))
        letters = {other[len(head)] for other in heads if len(other) > len(head) and other.startswith(head)}
        filler = next(letter for letter in _fillers(letters))
        found.append((accepted, [head, head + filler, head + filler * 2]))
    if "" not in heads:
        letters = {head[0] for head in heads}
        filler = next(letter for letter in _fillers(letters))
        found.append((frozenset(), ["other"] if "o" not in letters else [filler, filler * 2]))
    return found


def _fillers(but: Iterable[str]) -> Iterator[str]:
    taken = set(but)
    yield from (letter for letter in FILLERS if letter not in taken)
    yield from (letter for i in range(0x4E00, 0x9FFF) if (letter := chr(i)) not in taken)


# Where a glob stands: the places in it that could be next, as bits; None once it holds whatever follows.
_State = tuple[tuple[int, int], ...]


def _followed(globs: list[str]) -> list[tuple[frozenset[int], list[str]]]:
    """Every set of globs that a text can satisfy together, with up to three texts."""
    filler = next(_fillers("".join(globs)))
    compiled = [_compile(glob) for glob in globs]
    start = _settle(((i, _closure(compiled[i], 1)) for i in range(len(globs))), compiled)
    ways: dict[frozenset[int], list[str]] = {}
    seen = {start: ""}
    queue = [start]
    for state in queue:
        text, (active, sure) = seen[state], state
        accepted = sure | {i for i, places in active if places >> len(compiled[i]) & 1}
        texts = ways.setdefault(accepted, [])
        if len(texts) < 3:
            texts.append(text)
        letters = {compiled[i][p] for i, places in active for p in _bits(places) if p < len(compiled[i])}
        for letter in (filler, *sorted(letters - {"*", "?"})):
            steps = ((i, _step(compiled[i], places, letter)) for i, places in active)
            after_active, after_sure = _settle(steps, compiled)
            after = (after_active, after_sure | sure)
            if after not in seen:
                if len(seen) > MOST_STATES:
                    raise TooManyTexts
                seen[after] = text + letter
                queue.append(after)
            elif len(texts) < 3 and after == state:
                texts.append(text + letter)
    return list(ways.items())


def _compile(glob: str) -> str:
    while "**" in glob:
        glob = glob.replace("**", "*")
    return glob


def _settle(
    steps: Iterable[tuple[int, int]], globs: list[str]
) -> tuple[_State, frozenset[int]]:
    """Globs that may still go either way, and those that hold from here on; the others are out."""
    active, sure = [], set()
    for i, places in steps:
        if not places:
            continue
        end = len(globs[i])
        if globs[i].endswith("*") and places >> (end - 1) & 1:
            sure.add(i)
        else:
            active.append((i, places))
    return tuple(active), frozenset(sure)


def _closure(glob: str, places: int) -> int:
    """A star may stand for nothing: its place passes on to the next."""
    for at, letter in enumerate(glob):
        if letter == "*" and places >> at & 1:
            places |= 1 << (at + 1)
    return places


def _step(glob: str, places: int, letter: str) -> int:
    after = 0
    for at in _bits(places):
        if at == len(glob):
            continue
        wanted = glob[at]
        if wanted == "*":
            after |= 1 << at
        elif wanted in ("?", letter):
            after |= 1 << (at + 1)
    return _closure(glob, after)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _satisfied(text: str, globs: list[str]) -> frozenset[int]:
    return frozenset(i for i, glob in enumerate(globs) if _matches(_compile(glob), text))


def _matches(glob: str, text: str) -> bool:
    places = _closure(glob, 1)
    for letter in text:
        places = _step(glob, places, letter)
    return bool(places >> len(glob) & 1)


def _another(accepted: frozenset[int], globs: list[str], text: str, taken: frozenset[str]) -> str | None:
    """A text that satisfies just the `accepted` globs and is not taken, or None if those that are taken are all.

    The taken ones of that kind join the automaton, each as a pattern without a wildcard that must not hold.
    """
    del text
    names = [name for name in taken if _satisfied(name, globs) == accepted]
    patterns = [*(_compile(g) for g in globs), *names]
    # A wildcard in a name would act as one: names are compared as they stand, by their own place in the list.
    reached = _followed_with(patterns, len(globs), accepted)
    return reached


def _followed_with(patterns: list[str], globs: int, wanted: frozenset[int]) -> str | None:
    filler = next(_fillers("".join(patterns)))
    literal = [i >= globs for i in range(len(patterns))]

    def closure(i: int, places: int) -> int:
        return places if literal[i] else _closure(patterns[i], places)

    def step(i: int, places: int, letter: str) -> int:
        if not literal[i]:
            return _step(patterns[i], places, letter)
        return sum(1 << (at + 1) for at in _bits(places) if at < len(patterns[i]) and patterns[i][at] == letter)

    start = tuple(closure(i, 1) for i in range(len(patterns)))
    seen = {start: ""}
    queue = [start]
    for state in queue:
        accepted = frozenset(i for i, places in enumerate(state) if places >> len(patterns[i]) & 1)
        if accepted == wanted:
            return seen[state]
        letters = {patterns[i][p] for i, places in enumerate(state) for p in _bits(places) if p < len(patterns[i])}
        for letter in (filler, *sorted(letters - {"*", "?"})):
            after = tuple(step(i, places, letter) for i, places in enumerate(state))
            if after not in seen:
                if len(seen) > MOST_STATES:
                    raise TooManyTexts
                seen[after] = seen[state] + letter
                queue.append(after)
    return None
