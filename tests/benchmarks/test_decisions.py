"""The engines of the benchmark that are ours answer rightly: a quick wrong answer would be worth nothing."""

from __future__ import annotations

import pytest

from benchmarks.decisions.engines import Engine, Floor, Ours, OursWhole
from benchmarks.decisions.workload import first_match, make_contexts, make_rules


@pytest.mark.parametrize("kind", [Floor, Ours, OursWhole])
@pytest.mark.parametrize("count", [1, 40, 400])
def test_the_first_rule_that_matches(kind: type[Engine], count: int) -> None:
    rules = make_rules(count)
    engine = kind()
    engine.load(engine.write(rules))
    contexts = make_contexts(rules, 400)
    answers = [engine.answer(engine.question(context)) for context in contexts]
    assert answers == [first_match(rules, context) for context in contexts]
    assert sum(answer >= 0 for answer in answers) > 150
