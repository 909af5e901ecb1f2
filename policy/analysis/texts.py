"""Texts as an axis: a representative for every set of names and globs that some text can satisfy and no more.

Globs are followed together, letter by letter, as one automaton; only letters that they wait for matter, and one
that stands for all others. What is reached is exactly what exists, each with a shortest text that shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policy.analysis.unanalysable import Unanalysable

__all__ = ["frame_of", "text_classes"]

# Ways in which beginnings and ends may combine, and looks at one glob after one letter.
MOST_WAYS = 20_000
MOST_LOOKS = 1_000_000
TOO_MANY = "its globs overlap with others in too many ways"
# Letters for what no glob names, the nicest first.
FILLERS = "xyzqwkvj0123456789XYZQ~^§"


def text_classes(names: Iterable[str], globs: Iterable[str], prefer: str | None = None) -> list[str]:
    """One text for each way in which texts can satisfy `names` (equality) and `globs`; the names come first.

    `prefer` is returned for its own class where it is none of the names. Raises `Unanalysable`.
    """
    named, patterns = list(dict.fromkeys(names)), list(dict.fromkeys(globs))
    taken = frozenset(named)
    if not patterns:
        other = prefer if prefer is not None and prefer not in taken else _unnamed(taken)
        return [*named, other]
    frames = [frame for pattern in patterns if (frame := frame_of(pattern)) is not None]
    reached = _framed(frames) if len(frames) == len(patterns) else _followed(patterns)
    found: list[str] = []
    for accepted, texts in reached:
        free = next((t for t in texts if t not in taken), None)
        if free is None:
            free = _another(accepted, patterns, taken)
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


def frame_of(glob: str) -> tuple[str, str] | None:
    """How texts of a pattern begin and end, where it says no more than that."""
    head, star, tail = _compile(glob).partition("*")
    return (head, tail) if star and "*" not in tail and "?" not in glob else None


def _framed(frames: list[tuple[str, str]]) -> list[tuple[int, list[str]]]:
    """Patterns that only say how a text begins and ends. Any beginning goes with any end, as long as the text is
    long enough; the few texts in which the two overlap are looked at one by one."""
    filler = next(_fillers("".join(head + tail for head, tail in frames)))
    heads = dict.fromkeys(["", *(head for head, _ in frames)])
    tails = dict.fromkeys(["", *(tail for _, tail in frames)])
    if len(heads) * len(tails) > MOST_WAYS:
        raise Unanalysable(TOO_MANY)
    beginning = {h: _which(h.startswith(head) for head, _ in frames) for h in heads}
    ending = {t: _which(t.endswith(tail) for _, tail in frames) for t in tails}
    ways: dict[int, list[str]] = {}
    for head, begins in beginning.items():
        for tail, ends in ending.items():
            if begins & ends not in ways:
                ways[begins & ends] = [f"{head}{filler * n}{tail}" for n in (1, 2, 3)]
    for head, tail in frames:
        for shared in range(1, min(len(head), len(tail)) + 1):
            if head.endswith(tail[:shared]):
                text = head + tail[shared:]
                accepted = _which(_frames(h, t, text) for h, t in frames)
                ways.setdefault(accepted, []).append(text)
    if len(frames) <= 32:  # a text without a filler reads better, where it is of the same kind
        for accepted, texts in ways.items():
            bare = texts[0].replace(filler, "")
            if bare and _which(_frames(h, t, bare) for h, t in frames) == accepted:
                texts.insert(0, bare)
    return list(ways.items())


def _frames(head: str, tail: str, text: str) -> bool:
    return len(text) >= len(head) + len(tail) and text.startswith(head) and text.endswith(tail)


def _which(holds: Iterable[bool]) -> int:
    return sum(1 << i for i, held in enumerate(holds) if held)


def _fillers(but: Iterable[str]) -> Iterator[str]:
    taken = set(but)
    yield from (letter for letter in FILLERS if letter not in taken)
    yield from (letter for i in range(0x4E00, 0x9FFF) if (letter := chr(i)) not in taken)


# The globs that are open, each with the places in it that could be next, as bits; and those that hold by now.
_State = tuple[tuple[tuple[int, int], ...], int]


def _followed(globs: list[str]) -> list[tuple[int, list[str]]]:
    """Every set of globs that a text can satisfy together, with up to three texts."""
    filler = next(_fillers("".join(globs)))
    compiled = [_compile(glob) for glob in globs]
    start = _settle(((i, _closure(compiled[i], 1)) for i in range(len(globs))), compiled)
    ways: dict[int, list[str]] = {}
    seen = {start: ""}
    queue = [start]
    looks = 0
    for state in queue:
        text, (active, sure) = seen[state], state
        accepted = sure | sum(1 << i for i, places in active if places >> len(compiled[i]) & 1)
        texts = ways.setdefault(accepted, [])
        if len(texts) < 3:
            texts.append(text)
        letters = {compiled[i][p] for i, places in active for p in _bits(places) if p < len(compiled[i])}
        looks += len(active) * (len(letters) + 1)
        if looks > MOST_LOOKS:
            raise Unanalysable(TOO_MANY)
        for letter in (filler, *sorted(letters - {"*", "?"})):
            steps = ((i, _step(compiled[i], places, letter)) for i, places in active)
            still, new = _settle(steps, compiled)
            after = (still, new | sure)
            if after not in seen:
                seen[after] = text + letter
                queue.append(after)
            elif len(texts) < 3 and after == state:
                texts.append(text + letter)
    return list(ways.items())


def _compile(glob: str) -> str:
    while "**" in glob:
        glob = glob.replace("**", "*")
    return glob


def _settle(steps: Iterable[tuple[int, int]], globs: list[str]) -> _State:
    """Globs that may still go either way, and those that hold from here on; the others are out."""
    active, sure = [], 0
    for i, places in steps:
        if not places:
            continue
        if globs[i].endswith("*") and places >> (len(globs[i]) - 1) & 1:
            sure |= 1 << i
        else:
            active.append((i, places))
    return tuple(active), sure


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


def _satisfied(text: str, globs: list[str]) -> int:
    return _which(_matches(_compile(glob), text) for glob in globs)


def _matches(glob: str, text: str) -> bool:
    places = _closure(glob, 1)
    for letter in text:
        places = _step(glob, places, letter)
    return bool(places >> len(glob) & 1)


def _another(accepted: int, globs: list[str], taken: frozenset[str]) -> str | None:
    """A text that satisfies just the `accepted` globs and is not taken; None if those that are taken are all.

    The taken ones of that kind join the automaton as patterns without a wildcard, none of which may hold.
    """
    names = [name for name in taken if _satisfied(name, globs) == accepted]
    patterns = [*(_compile(g) for g in globs), *names]
    filler = next(_fillers("".join(patterns)))
    start = tuple(_closure(pattern, 1) for pattern in patterns)
    seen = {start: ""}
    queue = [start]
    for state in queue:
        if _which(bool(places >> len(p) & 1) for p, places in zip(patterns, state, strict=True)) == accepted:
            return seen[state]
        letters = {
            p[at] for p, places in zip(patterns, state, strict=True) for at in _bits(places) if at < len(p)
        }
        for letter in (filler, *sorted(letters - {"*", "?"})):
            after = tuple(_step(p, places, letter) for p, places in zip(patterns, state, strict=True))
            if after not in seen:
                if len(seen) * len(patterns) > MOST_LOOKS:
                    raise Unanalysable(TOO_MANY)
                seen[after] = seen[state] + letter
                queue.append(after)
    return None
