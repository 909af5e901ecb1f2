"""What reading says back of a text, without what belongs to a secret: `!x` and `*x` may be how a password begins."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence

from policy.document.diagnostic import Diagnostic
from policy.secret import HIDDEN, shown_entry

__all__ = ["without_echo"]


def without_echo(text: str, found: Diagnostic) -> Diagnostic:
    """The same finding; what stands in backticks is hidden where the place of it in `text` belongs to a secret."""
    if "`" not in found.message:
        return found
    at = found.location.column - 1
    hidden = any(first <= at < last for first, last in _parts(text).get(found.location.line, ()))

    def said(quoted: re.Match[str]) -> str:
        return f"`{HIDDEN if hidden else shown_entry(quoted[1])}`"

    return found._replace(message=re.sub("`([^`]*)`", said, found.message))


@functools.lru_cache(maxsize=1)  # a text may have many findings
def _parts(text: str) -> Mapping[int, Sequence[tuple[int, int]]]:
    from policy.document.hidden import hidden_in_lines  # noqa: PLC0415  (most texts have no mistakes)

    return hidden_in_lines(text.splitlines())
