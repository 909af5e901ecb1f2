"""The analysis against brute force: small random policies, every deployment of a grid, the real resolver."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from hypothesis import HealthCheck, given, settings
from packaging.version import Version

from policy.analysis import analyse
from policy.facts.facts import Facts
from policy.rules.policy_set import Rule
from tests.analysis.grid import CATALOG, HOMES, Cell, cells, is_facts_document, policies, policy_set

SLOW = settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))


def disagreeing(found: Sequence[Cell], first: Rule, second: Rule) -> set[str]:
    """The codes of conflicts in which both rules, of equal weight, take part."""
    codes: set[str] = set()
    for cell in found:
        if cell.error not in ("conflicting-rules", "conflicting-env") or not cell.matching:
            continue
        top = cell.matching[0]
        group = [r for r in cell.matching if r.enforce == top.enforce]
        if top.enforce == "prefer":
            group = [r for r in group if r.priority == top.priority]
        if first not in group or second not in group:
            continue
        if cell.error == "conflicting-rules" and first.runner != second.runner:
            codes.add(cell.error)
        if cell.error == "conflicting-env" and any(
            second.env.get(name, value) != value for name, value in first.env.items()
        ):
            codes.add(cell.error)
    return codes


def check(rules: Sequence[dict[str, Any]], places: Sequence[str]) -> None:
    some = policy_set(rules)
    analysis = analyse(some, CATALOG, engine=False)
    found = list(cells(some, places))
    assert analysis.cut == ()
    decides = {cell.decided_by for cell in found}
    assert {n.rule.id for n in analysis.never_decides} == {r.id for r in some.rules} - decides
    matched = {rule.id for cell in found for rule in cell.matching}
    for idle in analysis.never_decides:
        assert (idle.why == "unsatisfiable") == (idle.rule.id not in matched)
        check_shadow(found, idle.rule, {r.id for r in idle.by}, switch=idle.switch)
        assert set(idle.adds_env) == added(found, idle.rule)
    expected = {
        (a.id, b.id, code) for a, b in combinations(some.rules, 2) for code in disagreeing(found, a, b)
    }
    assert {(c.first.id, c.second.id, c.code) for c in analysis.conflicts} == expected
    for conflict in analysis.conflicts:
        assert is_facts_document(conflict.witness.document)
        facts = Facts(conflict.witness.document)
        assert conflict.first.match.value(facts)
        assert conflict.second.match.value(facts)


def check_shadow(found: Sequence[Cell], rule: Rule, by: set[str], *, switch: bool) -> None:
    """Together they take all of it, and none of them could be left out."""

    def left(without: set[str], *, overruled: bool) -> bool:
        return any(
            rule in cell.matching
            and not without & {r.id for r in cell.matching}
            and not (overruled and rule.enforce == "prefer" and is_overruled(cell))
            for cell in found
        )

    assert not left(by, overruled=True)
    assert all(left(by - {one}, overruled=True) for one in by)
    assert left(by, overruled=False) is switch


def is_overruled(cell: Cell) -> bool:
    engine = CATALOG.load(HOMES.home(Version(cell.document["vllm"])))
    return "VLLM_USE_V2_MODEL_RUNNER" in cell.document.get("env", {}) and engine.switch != "none"


def added(found: Sequence[Cell], rule: Rule) -> set[str]:
    """Variables that the rule alone gives to a decision."""
    names: set[str] = set()
    for cell in found:
        if rule not in cell.matching or (rule.enforce == "prefer" and is_overruled(cell)):
            continue
        top = cell.matching[0]
        if (top.enforce, top.enforce == "prefer" and top.priority) != (
            rule.enforce,
            rule.enforce == "prefer" and rule.priority,
        ):
            continue
        group = [
            r
            for r in cell.matching
            if r.enforce == rule.enforce and (r.enforce == "require" or r.priority == rule.priority)
        ]
        if any(r.runner != rule.runner for r in group):
            continue
        names |= {n for n in rule.env if not any(n in r.env for r in group if r is not rule)}
    return names


@SLOW
@given(policies())
def test_agrees_with_brute_force(drawn: tuple[list[dict[str, Any]], tuple[str, ...]]) -> None:
    check(*drawn)
