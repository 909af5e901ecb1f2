"""Exact analysis of policies over every deployment that their rules can tell apart.

`analyse` finds rules that never decide, pairs that can disagree, and rules that the engine makes pointless;
`differences` compares two policy sets by meaning. Nothing is sampled; what was too large to settle is in `cut`.

The space is that of documents in which everything asked about is known: any value that the facts schema allows,
any PEP 440 release. A release that the catalog does not describe decides as the described one before it
(`resolve --assume`). A distribution is installed once, however its name is spelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from policy.analysis.findings import (
    Analysis,
    Conflict,
    Cut,
    Difference,
    Differences,
    NeverDecides,
    Redundant,
    Undetermined,
    Unserved,
    Witness,
)
from policy.analysis.overview import LIMIT, analyse

__all__ = [
    "LIMIT",
    "Analysis",
    "Conflict",
    "Cut",
    "Difference",
    "Differences",
    "NeverDecides",
    "Redundant",
    "Undetermined",
    "Unserved",
    "Witness",
    "analyse",
    "differences",
]

if TYPE_CHECKING:
    from policy.analysis.comparison import differences


def __getattr__(name: str) -> Any:
    if name == "differences":  # only `diff` pays for it
        from policy.analysis.comparison import differences  # noqa: PLC0415

        return differences
    raise AttributeError(name)
