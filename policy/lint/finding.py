"""A finding of lint as a frozen value: reporters render it, rules never print."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Edit", "Finding", "Fix", "Related", "Severity", "Span"]

# A note is worth knowing and never makes lint fail.
Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A place in a file, counted from 1; 0 means the file as a whole. The end column is exclusive, on the same line."""

    path: str
    line: int = 0
    column: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}" if self.line else self.path


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that belongs to a finding, and what it is."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replaces the text of `span`."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that belong together. A safe fix changes nothing that anybody could have meant."""

    title: str
    edits: tuple[Edit, ...]
    safe: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. Messages are lower case, without a final full stop, the user's own text in backticks."""

    code: str
    name: str
    severity: Severity
    message: str
    span: Span
    help: str = ""
    related: tuple[Related, ...] = ()
    fix: Fix | None = field(default=None)

    @property
    def order(self) -> tuple[Span, str, str]:
        """Sorts findings totally: by place, then code, then message."""
        return (self.span, self.code, self.message)

    @property
    def page(self) -> str:
        """The page that explains the rule, relative to the root of the repository."""
        return f"docs/lint/{self.name}.md"
