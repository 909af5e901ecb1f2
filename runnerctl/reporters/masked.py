"""A line of a policy as it may be shown: a log is read by more people than the policy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from policy.secret import may_hold_secrets, shown

__all__ = ["Masks", "without_secrets"]

# A key with its value, as far as one line can tell: quoted, or up to what may end it; also a variable in a sentence.
_PAIR = re.compile(
    r"""(?P<quote>["']?)(?P<name>[A-Za-z_][\w.-]*)(?P=quote)(?:\s*:\s*|(?P<assigned>=))"""
    r"""(?:(?P<value>"(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?)|(?P<plain>[^\s"'{\[|>*#].*))"""
)
_FLOW_END = re.compile(r"[,\]}]|\s#|\Z")
_WORD_END = re.compile(r"[\s,\]}\"'`]|\Z")
_HIDDEN = "****"

Part = tuple[int, int]


class Masks:
    """What must not be shown of the lines of files, by path. A file is looked at when one of its lines is asked for."""

    def __init__(self, lines: Mapping[str, Sequence[str]]) -> None:
        self._lines = lines
        self._parts: dict[str, Mapping[int, Sequence[Part]]] = {}

    def of(self, path: str, number: int) -> Sequence[Part]:
        """The parts of a line that belong to a secret, as far as the file, not the line alone, tells."""
        if path not in self._parts:
            self._parts[path] = _hidden(self._lines.get(path, ()))
        return self._parts[path].get(number, ())


def _hidden(lines: Sequence[str]) -> Mapping[int, Sequence[Part]]:
    if not may_hold_secrets("\n".join(lines)):
        return {}
    from policy.document.hidden import hidden_in_lines  # noqa: PLC0415  (a cached answer does without YAML)

    return hidden_in_lines(lines)


def without_secrets(
    line: str, start: int = 0, end: int = 0, known: Sequence[Part] = ()
) -> tuple[str, int, int]:
    """The line with the values hidden that look like secrets, and where its part from `start` to `end` is then.

    `known` are parts of which the file tells that they belong to one.
    """
    parts: list[str] = []
    at, new_start, new_end = 0, start, end
    for first, last in _apart(sorted([*known, *_secrets(line)])):
        shorter = len(_HIDDEN) - (last - first)
        new_start += shorter if start >= last else min(0, first - start)
        new_end += shorter if end >= last else min(0, first - end) and first + len(_HIDDEN) - end
        parts += [line[at:first], _HIDDEN]
        at = last
    return "".join([*parts, line[at:]]), new_start, new_end


def _apart(parts: Sequence[Part]) -> Iterator[Part]:
    """Sorted parts, those that overlap made one."""
    first, last = -1, -1
    for start, end in parts:
        if start >= last:
            if first < last:
                yield first, last
            first = start
        last = max(last, end)
    if first < last:
        yield first, last


def _secrets(line: str) -> Iterator[Part]:
    """Where the values of secrets begin and end. It rather hides too much: what is a value is not sure in one line."""
    at = 0
    while found := _PAIR.search(line, at):
        name = found["name"].removeprefix("env.")
        group = "value" if found["value"] is not None else "plain"
        first, last = found.span(group)
        if group == "plain":
            last = _plain_end(line, first, assigned=found["assigned"] is not None)
        if shown(name, line[first:last]) != line[first:last]:
            yield first, last
        else:
            last = first  # a plain text may hold further pairs
        at = max(last, found.start("name") + 1)


def _plain_end(line: str, first: int, *, assigned: bool) -> int:
    """Where a value without quotes that begins at `first` ends."""
    in_flow = "{" in line[:first] or "[" in line[:first]
    ending = _WORD_END if assigned else _FLOW_END if in_flow else None
    ended = ending.search(line, first) if ending else None
    return ended.start() if ended else len(line.rstrip())
