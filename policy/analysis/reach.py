"""Rules that never decide: their boxes without all that outranks them hold no deployment."""

from __future__ import annotations

from collections.abc import Iterator

from policy.analysis.findings import Cut, NeverDecides
from policy.analysis.ranked import Ranked
from policy.analysis.search import OverBudget

__all__ = ["never_decides"]

# Of so many rules that take everything together, each is tried for whether it could be left out.
MOST_NAMED = 16


def never_decides(ranked: Ranked) -> Iterator[NeverDecides | Cut]:
    """Every rule of `ranked` that no decision names, or a `Cut` for one that could not be settled."""
    for i, rule in enumerate(ranked.rules):
        try:
            found = _of_rule(ranked, i)
        except OverBudget:
            yield Cut(
                "never-decides", "too many rules overlap with it to settle whether it can decide", (rule.id,)
            )
            continue
        if found:
            yield found


def _of_rule(ranked: Ranked, i: int) -> NeverDecides | None:
    """None where the rule decides somewhere. Raises `OverBudget`."""
    rule = ranked.rules[i]
    overruled = rule.enforce == "prefer"
    earlier = ranked.between(0, i)
    used: set[int] = set()
    for b in ranked.boxes_of_rule(i):
        box = ranked.boxes[b]
        reaches, by, _ = ranked.reaches(box, ranked.listed(ranked.near(box) & earlier), overruled=overruled)
        if reaches:
            return None
        used |= by
    if not _holds(ranked, i, [], overruled=False):
        return NeverDecides(rule, "unsatisfiable")
    used = _needed(ranked, i, used)
    by_switch = overruled and _holds(ranked, i, sorted(used), overruled=False)
    return NeverDecides(
        rule,
        "shadowed",
        tuple(ranked.rules[j] for j in sorted(used)),
        by_switch,
        tuple(name for name in rule.env if _adds(ranked, i, name)),
    )


def _holds(ranked: Ranked, i: int, without: list[int], *, overruled: bool) -> bool:
    """Whether rule `i` holds somewhere that the rules `without` do not."""
    which = 0
    for j in without:
        which |= ranked.between(j, j + 1)
    for b in ranked.boxes_of_rule(i):
        box = ranked.boxes[b]
        others = ranked.listed(ranked.near(box) & which)
        if ranked.reaches(box, others, overruled=overruled)[0]:
            return True
    return False


def _needed(ranked: Ranked, i: int, used: set[int]) -> set[int]:
    """Rules that still take all of rule `i` together, none of which could be left out."""
    if len(used) > MOST_NAMED:
        return used
    kept = set(used)
    for j in sorted(used, reverse=True):
        if not _holds(ranked, i, sorted(kept - {j}), overruled=ranked.rules[i].enforce == "prefer"):
            kept.discard(j)
    return kept


def _adds(ranked: Ranked, i: int, name: str) -> bool:
    """Whether somewhere the rule sets a variable for a decision that a rule of its own weight is named for."""
    rule = ranked.rules[i]
    first, last = ranked.groups[i]
    without = [
        *range(first),
        *(
            j
            for j in range(first, last)
            if j != i and (ranked.rules[j].runner != rule.runner or name in ranked.rules[j].env)
        ),
    ]
    return _holds(ranked, i, without, overruled=rule.enforce == "prefer")
