"""The one call of the analysis: all findings of a policy set, and what was cut."""

from __future__ import annotations

from policy.analysis.conflicts import conflicts
from policy.analysis.findings import Analysis, Conflict, Cut, NeverDecides
from policy.analysis.homes import Homes
from policy.analysis.ranked import Ranked
from policy.analysis.reach import never_decides
from policy.analysis.search import Budget
from policy.analysis.texts import TooManyTexts
from policy.analysis.versions import Unsplittable
from policy.engine.catalog import Catalog
from policy.rules.policy_set import PolicySet

__all__ = ["LIMIT", "analyse"]

# Steps of the search; one is about a microsecond. Past them the analysis says what it left out.
LIMIT = 20_000_000


def analyse(policies: PolicySet, catalog: Catalog, *, limit: int = LIMIT, engine: bool = True) -> Analysis:
    """Every finding of `policies`. `engine=False` leaves out what needs the catalog's rules (`redundant`,
    `unserved`), which costs the reading of its releases."""
    ranked = Ranked(policies, Homes(catalog), Budget(limit))
    cut = list(ranked.cut)
    pairs: list[Conflict] = []
    for pair in conflicts(ranked):
        if isinstance(pair, Conflict):
            pairs.append(pair)
        else:
            cut.append(pair)
    sides = {rule.id for pair in pairs for rule in (pair.first, pair.second)}
    idle: list[NeverDecides] = []
    for found in never_decides(ranked):
        if isinstance(found, NeverDecides):
            idle.append(found._replace(clashes=found.rule.id in sides))
        else:
            cut.append(found)
    return Analysis(never_decides=tuple(idle), conflicts=tuple(pairs), cut=tuple(cut))
