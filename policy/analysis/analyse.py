"""The one call of the analysis: all findings of a policy set, and what was cut."""

from __future__ import annotations

from policy.analysis.conflicts import conflicts
from policy.analysis.findings import Analysis, Conflict, NeverDecides, Redundant, Unserved
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
    budget = Budget(limit)
    ranked = Ranked(policies, Homes(catalog), budget)
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
    redundant: list[Redundant] = []
    unserved: list[Unserved] = []
    if engine:
        from policy.analysis.served import EngineQuestions  # noqa: PLC0415  (only who asks for it pays)

        questions = EngineQuestions(ranked, budget)
        for use in questions.redundant():
            if isinstance(use, Redundant):
                redundant.append(use)
            else:
                cut.append(use)
        for lack in questions.unserved():
            if isinstance(lack, Unserved):
                unserved.append(lack)
            else:
                cut.append(lack)
    return Analysis(
        tuple(idle), tuple(pairs), tuple(redundant), tuple(unserved), cut=tuple(dict.fromkeys(cut))
    )
