"""A unified diff of a policy as it may be shown: context is what nobody asked to see, and may be a secret."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from policy.document.hidden import hidden_in_lines
from runnerctl.reporters.masked import Part, without_secrets

__all__ = ["Diff", "unified_diff"]

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)")
_NO_END = "\\ No newline at end of file\n"


class Diff(NamedTuple):
    """A diff, empty where nothing changes. Where something in it is `hidden`, it cannot be applied."""

    text: str
    hidden: bool


def unified_diff(name: str, old: str, new: str) -> Diff:
    """How `old` becomes `new`, in the form that `patch` takes; the values of secrets are `****` in it."""
    if old == new:
        return Diff("", hidden=False)
    before, after = _lines(old), _lines(new)
    masks = {side: hidden_in_lines(text.split("\n")) for side, text in (("-", old), ("+", new))}
    plain = list(difflib.unified_diff(before, after, name, name))
    shown = list(_shown(plain, masks))
    text = "".join(line if line.endswith("\n") else f"{line}\n{_NO_END}" for line in shown)
    return Diff(text, shown != plain)


def _lines(text: str) -> list[str]:
    """The lines of a text with their ends, as `patch` counts them."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _shown(lines: Sequence[str], masks: Mapping[str, Mapping[int, Sequence[Part]]]) -> Iterator[str]:
    """The lines of a diff with what must not be shown hidden. `masks` are those of both texts, by side and line."""
    yield from lines[:2]
    old = new = 0
    for line in lines[2:]:
        if found := _HUNK.match(line):
            old, new = int(found[1]), int(found[2])
            yield line
            continue
        sign, content = line[0], line[1:].removesuffix("\n")
        known = masks["+"].get(new, ()) if sign == "+" else masks["-"].get(old, ())
        yield sign + without_secrets(content, known) + line[1 + len(content) :]
        old, new = old + (sign != "+"), new + (sign != "-")
