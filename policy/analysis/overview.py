"""The one call of the analysis: all findings of a policy set, and what was cut."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from policy.analysis.conflicts import conflicts
from policy.analysis.findings import Analysis, Cut, Redundant, Unserved
from policy.analysis.homes import Homes
from policy.analysis.ranked import Ranked
from policy.analysis.reach import never_decides
from policy.analysis.search import LIMIT, Budget
from policy.analysis.undetermined import always_undetermined
from policy.engine.catalog import Catalog
from policy.rules.policy_set import PolicySet

__all__ = ["LIMIT", "analyse"]

Finding = TypeVar("Finding")


def analyse(policies: PolicySet, catalog: Catalog, *, limit: int = LIMIT, engine: bool = True) -> Analysis:
    """Every finding of `policies`. `engine=False` leaves out what needs the catalog's rules (`redundant`,
    `unserved`), which costs the reading of its releases."""
    budget = Budget(limit)
    ranked = Ranked(policies, Homes.of(catalog), budget)
    cut = list(ranked.cut)

    def found(findings: Iterable[Finding | Cut]) -> tuple[Finding, ...]:
        kept: list[Finding] = []
        for finding in findings:
            if isinstance(finding, Cut):
                cut.append(finding)
            else:
                kept.append(finding)
        return tuple(kept)

    pairs = found(conflicts(ranked))
    sides = {rule.id for pair in pairs for rule in (pair.first, pair.second)}
    idle = (n._replace(clashes=n.rule.id in sides) for n in found(never_decides(ranked)))
    redundant: tuple[Redundant, ...] = ()
    unserved: tuple[Unserved, ...] = ()
    if engine:
        from policy.analysis.served import EngineQuestions  # noqa: PLC0415  (only who asks for it pays)

        questions = EngineQuestions(ranked, budget)
        redundant, unserved = found(questions.redundant()), found(questions.unserved())
    unread = tuple(always_undetermined(ranked))
    return Analysis(tuple(idle), pairs, redundant, unserved, unread, tuple(dict.fromkeys(cut)))
