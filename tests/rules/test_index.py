"""What the index leaves out never matches: on every release's gaps, for the deployments of the oracle and pieces of them."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from policy.engine import Catalog
from policy.engine.release import RUNNERS
from policy.facts.facts import Facts

ORACLE = Path(__file__).parents[1] / "engine_catalog" / "oracle_cases.jsonl.gz"
CATALOG = Catalog()


def documents() -> list[dict[str, Any]]:
    with gzip.open(ORACLE, "rt") as lines:
        whole = [json.loads(line)["facts"] for line in lines]
    chance = random.Random(1)  # noqa: S311  (the same pieces at every run)
    found = list(whole)
    for facts in whole:
        piece = {head: value for head, value in facts.items() if chance.random() < 0.5}
        hidden = chance.choice(["model_config", "speculative_config", "parallel_config.enable_dbo", "env"])
        found += [piece, {**piece, "unknown": [hidden]}]
    return found


@pytest.mark.parametrize("release", ["0.20.0", "0.22.0", "0.24.0", "0.28.0", "0.30.0", "0.33.0"])
def test_what_is_left_out_is_false(release: str) -> None:
    engine = CATALOG.load(release)
    skipped = 0
    for document in documents():
        facts = Facts(document)
        for runner in RUNNERS:
            for index, gaps in zip(engine.gaps[runner], (engine.unsupported, engine.refused), strict=True):
                kept = index.candidates(facts)
                left_out = [gap for gap in gaps[runner] if gap not in kept]
                skipped += len(left_out)
                assert [gap.id for gap in left_out if gap.match.value(facts) is not False] == []
    assert skipped > 1000
