"""Exact analysis of policies over every deployment that their rules can tell apart.

`analyse` finds rules that never decide, pairs that can disagree, and rules that the engine makes pointless;
`differences` compares two policy sets by meaning. Nothing is sampled; what was too large to settle is in `cut`.

The space is that of documents in which everything asked about is known: any value that the facts schema allows,
any PEP 440 release. A release that the catalog does not describe decides as the described one before it
(`resolve --assume`). A distribution is installed once, however its name is spelled.
"""

from __future__ import annotations

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
from policy.engine import Catalog
from policy.rules.policy_set import PolicySet

__all__ = [
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

# Steps of the search; one is about a microsecond. Past them the analysis says what it left out.
LIMIT = 20_000_000


def analyse(policies: PolicySet, catalog: Catalog, *, limit: int = LIMIT, engine: bool = True) -> Analysis:
    """Every finding of `policies`. `engine=False` leaves out what needs the catalog's rules (`redundant`,
    `unserved`), which costs the reading of its releases."""
    raise NotImplementedError


def differences(old: PolicySet, new: PolicySet, catalog: Catalog, *, limit: int = LIMIT) -> Differences:
    """Where `new` decides otherwise than `old`: one checked witness for each pair of deciders."""
    raise NotImplementedError
