"""A line of a policy as it may be shown: a log is read by more people than the policy."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policy.secret import shown

__all__ = ["without_secrets"]

# A key with its value, as far as one line can tell: quoted, or up to what may end it.
_PAIR = re.compile(
    r"""(?P<quote>["']?)(?P<name>[A-Za-z_][\w.-]*)(?P=quote)\s*:\s*"""
    r"""(?:(?P<value>"(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?)|(?P<plain>[^\s"'{\[|>*#].*))"""
)
_FLOW_END = re.compile(r"[,\]}]|\s#|\Z")
_HIDDEN = "****"


def without_secrets(line: str, start: int, end: int) -> tuple[str, int, int]:
    """The line with the values hidden that look like secrets, and where its part from `start` to `end` is then."""
    parts: list[str] = []
    at, new_start, new_end = 0, start, end
    for first, last in _secrets(line):
        shorter = len(_HIDDEN) - (last - first)
        new_start += shorter if start >= last else min(0, first - start)
        new_end += shorter if end >= last else min(0, first - end) and first + len(_HIDDEN) - end
        parts += [line[at:first], _HIDDEN]
        at = last
    return "".join([*parts, line[at:]]), new_start, new_end


def _secrets(line: str) -> Iterator[tuple[int, int]]:
    """Where the values of secrets begin and end. It rather hides too much: what is a value is not sure in one line."""
    at = 0
    while found := _PAIR.search(line, at):
        name = found["name"].removeprefix("env.")
        group = "value" if found["value"] is not None else "plain"
        first, last = found.span(group)
        if group == "plain":
            in_flow = "{" in line[:first] or "[" in line[:first]
            ended = _FLOW_END.search(line, first) if in_flow else None
            last = ended.start() if ended else len(line.rstrip())
        if shown(name, line[first:last]) != line[first:last]:
            yield first, last
        else:
            last = first  # a plain text may hold further pairs
        at = max(last, found.start("name") + 1)
