"""What the analysis leaves out, and says so."""

from __future__ import annotations

__all__ = ["Unanalysable"]


class Unanalysable(Exception):  # noqa: N818  (becomes a `Cut`)
    """A match that cannot be expressed exactly, or not in reasonable time; the text says why."""
