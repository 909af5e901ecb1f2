"""What is wrong, where, and what would be right: plain values that reporters render."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from policy.input_error import InputError

__all__ = ["Diagnostic", "DocumentError", "Location", "nearest"]


class Location(NamedTuple):
    """A place in a file. `line` and `column` count from 1; 0 means the file as a whole."""

    path: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.path
        return f"{self.path}:{self.line}:{self.column}"


class Diagnostic(NamedTuple):
    """One finding. Messages are lower case, without a final full stop, the user's own text in backticks."""

    location: Location
    code: str
    message: str
    help: str = ""

    def __str__(self) -> str:
        text = f"{self.location}: {self.message} [{self.code}]"
        return f"{text}\n  help: {self.help}" if self.help else text


class DocumentError(InputError):
    """A file that cannot be used. Carries every finding, in a total order, not only the first."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(sorted(set(diagnostics)))
        super().__init__("\n".join(str(d) for d in self.diagnostics))


def nearest(wrong: str, right: Iterable[str], *, limit: int = 3) -> str:
    """A help text that names the nearest right spellings of `wrong`, or an empty string."""
    import difflib  # noqa: PLC0415  (4 ms that only a mistake needs)

    found = difflib.get_close_matches(wrong, list(right), n=limit, cutoff=0.6)
    if not found:
        return ""
    return "did you mean " + " or ".join(f"`{name}`" for name in found) + "?"
