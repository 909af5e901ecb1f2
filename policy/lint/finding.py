"""A finding of lint as a frozen value: reporters render it, rules never print."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

# Named tuples, not dataclasses: a run of lint is shorter than what a handful of those costs at its start.

__all__ = ["Edit", "Finding", "Fix", "Related", "Severity", "Span", "finding_from_json"]

# A note is worth knowing and never makes lint fail.
Severity = Literal["error", "warning", "note"]


class Span(NamedTuple):
    """A place in a file, counted from 1; 0 means the file as a whole. The end column is exclusive, on the same line."""

    path: str
    line: int = 0
    column: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}" if self.line else self.path


class Related(NamedTuple):
    """Another place that belongs to a finding, and what it is."""

    span: Span
    message: str


class Edit(NamedTuple):
    """Replaces the text of `span`."""

    span: Span
    text: str


class Fix(NamedTuple):
    """Edits that belong together. A safe fix changes nothing that anybody could have meant."""

    title: str
    edits: tuple[Edit, ...]
    safe: bool = True


class Finding(NamedTuple):
    """One finding. Messages are lower case, without a final full stop, the user's own text in backticks."""

    code: str
    name: str
    severity: Severity
    message: str
    span: Span
    help: str = ""
    related: tuple[Related, ...] = ()
    fix: Fix | None = None

    @property
    def order(self) -> tuple[Span, str, str]:
        """Sorts findings totally: by place, then code, then message."""
        return (self.span, self.code, self.message)

    @property
    def page(self) -> str:
        """The page that explains the rule, relative to the root of the repository."""
        return f"docs/lint/{self.name}.md"


def finding_from_json(entry: Any) -> Finding:
    """A finding that JSON has written as a list. Raises `ValueError` or `TypeError` for anything else."""
    code, name, severity, message, span, help_, related, fix = entry
    return Finding(
        code,
        name,
        severity,
        message,
        Span(*span),
        help_,
        tuple(Related(Span(*where), what) for where, what in related),
        None
        if fix is None
        else Fix(fix[0], tuple(Edit(Span(*where), text) for where, text in fix[1]), fix[2]),
    )
