"""The ends of release ranges as they are written, and how to move one without touching the text around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from packaging.version import Version

from policy.lint.finding import Edit, Span
from policy.lint.text import RuleText

__all__ = ["Bound", "bounds", "moved_to_dev"]

# An end at a plain release. One that names a candidate, a nightly or a post release is meant as it is.
_BOUND = re.compile(r"(?:^|,)\s*(?P<operator><|>=)\s*(?P<version>\d+(?:\.\d+)*)\s*(?=,|$)")


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a rule's range: `<` or `>=` at a release. `text` is the release as written."""

    rule: RuleText
    operator: str
    text: str
    version: Version
    span: Span


def bounds(rule: RuleText) -> Iterator[Bound]:
    """The ends of the range that the whole rule is under."""
    for condition in rule.conditions:
        if condition.path != "vllm" or not condition.top or not isinstance(condition.value, str):
            continue
        for found in _BOUND.finditer(condition.value):
            version = Version(found["version"])
            yield Bound(rule, found["operator"], found["version"], version, rule.file.span(*condition.at))


def moved_to_dev(bound: Bound) -> Edit:
    """The range with this end at the release's first nightly, its quotes and blanks as they are."""
    line = bound.rule.file.lines[bound.span.line - 1]
    written = line[bound.span.column - 1 : bound.span.end_column - 1]
    pattern = rf"({re.escape(bound.operator)}\s*{re.escape(bound.text)})(?![\w.])"
    return Edit(bound.span, re.sub(pattern, r"\1.dev0", written))
