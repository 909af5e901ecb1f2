"""Memory of what was worked out, which does not grow with the number of deployments."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["MOST_REMEMBERED", "remember"]

# Entries that are kept before all are forgotten: they are values that deployments gave.
MOST_REMEMBERED = 20_000

K = TypeVar("K")
V = TypeVar("V")


def remember(known: dict[K, V], key: K, value: V) -> V:
    """Keep `value` for `key`, and give it back. A memory that is full forgets everything first."""
    if len(known) >= MOST_REMEMBERED:
        known.clear()
    known[key] = value
    return value
