"""The ends of release ranges as they are written, and how to move one without touching the text around it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

from policy.lint.finding import Edit, Span
from policy.lint.text import RuleText, Step

__all__ = ["Bound", "bounds", "ends", "moved_to_dev"]


class Bound(NamedTuple):
    """One end of a rule's range at a plain release: `<` or `>=`. `text` is the release as written.

    An end that names a candidate, a nightly or a post release is meant as it is, and none of these.
    """

    rule: RuleText
    operator: str
    text: str
    at: tuple[Step, ...]

    @property
    def version(self) -> tuple[int, ...]:
        """The release, such that `0.23` and `0.23.0` are one."""
        numbers = [int(part) for part in self.text.split(".")]
        while numbers and not numbers[-1]:
            numbers.pop()
        return tuple(numbers)

    @property
    def span(self) -> Span:
        return self.rule.file.span(*self.at)

    @property
    def may_be_shared(self) -> bool:
        """Whether it, or what it is in, has an anchor or is an alias: an edit would be one of other rules, too."""
        places = (self.rule.file.span(*self.at[:n]) for n in range(2, len(self.at) + 1))
        return any(self.rule.file.lines[at.line - 1][at.column - 1 :][:1] in ("&", "*") for at in places)


def bounds(rule: RuleText) -> Iterator[Bound]:
    """The ends of the range that the whole rule is under."""
    for condition in rule.conditions:
        if condition.path != "vllm" or not condition.top or not isinstance(condition.value, str):
            continue
        for operator, text in ends(condition.value):
            yield Bound(rule, operator, text, condition.at)


@functools.cache
def ends(specifier: str) -> tuple[tuple[str, str], ...]:
    """The operator and the release of each end of a range at a plain release."""
    found = []
    for part in specifier.split(","):
        clause = part.strip()
        operator = ">=" if clause.startswith(">=") else "<"
        text = clause.removeprefix(operator).strip()
        if clause.startswith(operator) and all(number.isdecimal() for number in text.split(".")):
            found.append((operator, text))
    return tuple(found)


def moved_to_dev(bound: Bound) -> Edit:
    """The range with this end at the release's first nightly, its quotes and blanks as they are."""
    import re  # noqa: PLC0415  (for a finding only)

    span = bound.span
    written = bound.rule.file.lines[span.line - 1][span.column - 1 : span.end_column - 1]
    pattern = rf"({re.escape(bound.operator)}\s*{re.escape(bound.text)})(?![\w.])"
    return Edit(span, re.sub(pattern, r"\1.dev0", written))
