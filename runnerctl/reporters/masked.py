"""A line of a policy as it may be shown: a log is read by more people than the policy."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from policy.secret import HIDDEN, apart, is_secret, may_hold_secrets, secret_shapes

__all__ = ["Masked", "Masks", "without_secrets"]

# A name with what stands before its value: a key, or a variable in a sentence. It begins where no other word goes on, so
# that a long line is gone through once.
_NAME = re.compile(r"""(?P<quote>["']?)(?<![\w.-])(?P<name>[\w.-]+)(?P=quote)(?:\s*:\s*|(?P<assigned>=))""")
_QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?""")
_FLOW_END = re.compile(r"[,\]}]|\s#|\Z")
_LINE_END = re.compile(r"\Z")
_WORD_END = re.compile(r"[\s,\]}\"'`]|\Z")
_NO_VALUE = re.compile(r"[{\[|>*#,\]}]|\Z")
_ENDED = re.compile(r"\s*(?:[,\]}:]|\s#|\Z)")

Part = tuple[int, int]


class Masked(NamedTuple):
    """A line with its `parts` hidden: `shifts` is how much longer it became before each of them, and after the last."""

    text: str
    parts: Sequence[Part]
    shifts: Sequence[int]

    def place(self, at: int, *, ends: bool = False) -> int:
        """Where a place of the line is in the text: of what is hidden where it begins, or where it `ends`."""
        i = bisect_left(self.parts, (at,))  # how many parts begin before it
        if i and at < self.parts[i - 1][1]:
            return self.parts[i - 1][0] + self.shifts[i - 1] + (len(HIDDEN) if ends else 0)
        return at + self.shifts[i]


class Masks:
    """The lines of files as they may be shown, by path. A file is looked at when one of its lines is asked for."""

    def __init__(self, lines: Mapping[str, Sequence[str]]) -> None:
        self._lines = lines
        self._known: dict[str, Mapping[int, Sequence[Part]]] = {}
        self._masked: dict[tuple[str, int], Masked] = {}

    def line(self, path: str, number: int) -> Masked:
        """A line, which is there, without what belongs to a secret, as far as it and its whole file tell."""
        if (path, number) not in self._masked:
            if path not in self._known:
                self._known[path] = _hidden(self._lines[path])
            known = self._known[path].get(number, ())
            self._masked[path, number] = _masked(self._lines[path][number - 1], known)
        return self._masked[path, number]


def _hidden(lines: Sequence[str]) -> Mapping[int, Sequence[Part]]:
    if not may_hold_secrets("\n".join(lines)):
        return {}
    from policy.document.hidden import hidden_in_lines  # noqa: PLC0415  (a cached answer does without YAML)

    return hidden_in_lines(lines)


def without_secrets(line: str, known: Sequence[Part] = ()) -> str:
    """The line with the values hidden that look like secrets. `known` are parts of which its file tells that they are."""
    return _masked(line, known).text


def _masked(line: str, known: Sequence[Part]) -> Masked:
    parts = list(apart([*known, *secret_shapes(line), *_secrets(line)]))
    texts, shifts, at = [], [0], 0
    for first, last in parts:
        texts += [line[at:first], HIDDEN]
        shifts.append(shifts[-1] + len(HIDDEN) - (last - first))
        at = last
    return Masked("".join([*texts, line[at:]]), parts, shifts)


def _secrets(line: str) -> Iterator[Part]:
    """Where the values of secrets begin and end. It rather hides too much: what is a value is not sure in one line."""
    flow = min((at for at in (line.find("{"), line.find("[")) if at >= 0), default=len(line))
    at = 0
    while found := _NAME.search(line, at):
        at = found.end()
        if not is_secret(found["name"]):
            continue
        if found["assigned"] is not None:
            last = _value_end(line, at, _WORD_END)
        elif _NO_VALUE.match(line, at):  # what the whole file tells
            continue
        else:
            last = _value_end(line, at, _FLOW_END if flow < at else _LINE_END)
        yield at, last
        at = last


def _value_end(line: str, first: int, ending: re.Pattern[str]) -> int:
    """Where a value that begins at `first` ends: with its quotes, and else where `ending` is found."""
    quoted = _QUOTED.match(line, first)
    if quoted is not None and (ending is _WORD_END or _ENDED.match(line, quoted.end())):
        return quoted.end()
    if ending is _LINE_END:
        return len(line.rstrip())
    ended = ending.search(line, first if quoted is None else quoted.end())
    return len(line) if ended is None else ended.start()
