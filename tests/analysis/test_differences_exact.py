"""Differences of two policy sets against brute force, with the real resolver."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from packaging.version import Version

from policy.analysis import differences
from policy.analysis.meaning import asked, deciding, meaning
from policy.analysis.witness import decide
from policy.decision.resolve import resolve
from policy.facts.facts import Facts
from policy.rules.policy_set import PolicySet, compose
from tests.analysis.grid import CATALOG, HOMES, PLACES, is_facts_document, policies, policy_set, rules

SLOW = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))


@st.composite
def versions_of_a_set(
    draw: st.DrawFn,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], tuple[str, ...]]:
    """Rules, and the same with some taken away, some changed and some added."""
    old, places = draw(policies(3))
    new = [rule for rule in old if draw(st.booleans())]
    new = [
        {**rule, "runner": draw(st.sampled_from(["v1", "v2"]))} if draw(st.booleans()) else rule
        for rule in new
    ]
    new += [draw(rules(places, name)) for name in "xy"[: draw(st.integers(0, 2))]]
    return old, new, places


def differing(old: PolicySet, new: PolicySet, places: Sequence[str]) -> set[tuple[str | None, str | None]]:
    """The pairs of first deciding rules for which a deployment of the grid gets another decision."""
    found: set[tuple[str | None, str | None]] = set()
    seen: set[Any] = set()
    used = [PLACES[place] for place in places]
    used += [] if "vllm" in places else [[{"vllm": "0.11.0"}, {"vllm": "0.21.0"}, {"vllm": "0.33.0"}]]
    used += [] if "env" in places else [PLACES["env"]]
    for parts in itertools.product(*used):
        document = {key: value for part in parts for key, value in part.items()}
        facts = Facts(document)
        sides = [deciding(some, facts) for some in (old, new)]
        pair = tuple(side[0].id if side else None for side in sides)
        home = HOMES.home(Version(document["vllm"]))
        kind = (pair, *map(asked, sides), document.get("env", {}).get("VLLM_USE_V2_MODEL_RUNNER"), home)
        if kind in seen:
            continue
        seen.add(kind)
        engine = CATALOG.load(home)
        one, other = (meaning(resolve(some, engine, facts), document) for some in (old, new))
        if one != other:
            found.add((pair[0], pair[1]))
    return found


def conflict(enforce: str) -> list[dict[str, Any]]:
    """Two rules that disagree everywhere."""
    return [
        {"id": f"{enforce}-{runner}", "match": {}, "runner": runner, "enforce": enforce, "priority": 0}
        for runner in ("v1", "v2")
    ]


@SLOW
@example((conflict("prefer"), conflict("require"), ("env",)))  # the switch settles the one, and not the other
@given(versions_of_a_set())
def test_agrees_with_brute_force(
    drawn: tuple[list[dict[str, Any]], list[dict[str, Any]], tuple[str, ...]],
) -> None:
    old, new = policy_set(drawn[0]), policy_set(drawn[1])
    found = differences(old, new, CATALOG)
    assert found.cut == ()
    # The grid knows nothing of what releases do not serve: the analysis may find more than it, never less.
    assert differing(old, new, drawn[2]) <= {(d.old_by, d.new_by) for d in found.found}
    for difference in found.found:
        one, other = (decide(some, difference.witness, HOMES) for some in (old, new))
        document = difference.witness.document
        assert is_facts_document(document)
        assert (one, other) == (difference.old, difference.new)
        assert meaning(one, document) != meaning(other, document)
        sides = [deciding(some, Facts(document)) for some in (old, new)]
        assert (difference.old_by, difference.new_by) == tuple(s[0].id if s else None for s in sides)


@SLOW
@given(policies(), st.randoms())
def test_order_names_and_files_make_no_difference(
    drawn: tuple[list[dict[str, Any]], tuple[str, ...]], chance: random.Random
) -> None:
    some = drawn[0]
    renamed = [{**rule, "id": f"other-{i}", "reason": "told otherwise"} for i, rule in enumerate(some)]
    chance.shuffle(renamed)
    renamed = [
        {**rule, "match": dict(chance.sample(sorted(rule["match"].items()), len(rule["match"])))}
        for rule in renamed
    ]
    half = len(renamed) // 2
    files = [*policy_set(renamed[:half], "one").files, *policy_set(renamed[half:], "two").files]
    assert differences(policy_set(some), compose(files), CATALOG) == ((), (), ())
