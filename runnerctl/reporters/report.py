"""What every reporter gets: the findings of one run, and the text that they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from policy.lint.finding import Finding

__all__ = ["Report"]


class Report(NamedTuple):
    """One run of lint. `lines` are the files that findings are in, `checked` is how many files there were.

    `known` is how many findings a baseline took away, `fixed` how many were mended.
    """

    findings: Sequence[Finding]
    lines: Mapping[str, Sequence[str]]
    checked: int
    version: str
    known: int = 0
    fixed: int = 0

    def line(self, path: str, number: int) -> str | None:
        """The line of a file, or None where there is none."""
        held = self.lines.get(path, ())
        return held[number - 1] if 0 < number <= len(held) else None

    def number(self, severity: str) -> int:
        return sum(finding.severity == severity for finding in self.findings)
