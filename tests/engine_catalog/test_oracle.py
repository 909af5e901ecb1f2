"""The catalog against what the real vLLM releases decided: 250 deployments, each asked of every release."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from policy.decision import resolve
from policy.document import Document
from policy.engine import Catalog, EngineRelease
from policy.facts.facts import Facts, facts_from_document
from policy.rules.policy_set import PolicySet

with gzip.open(Path(__file__).parent / "oracle_cases.jsonl.gz", "rt") as lines:
    CASES: list[dict[str, Any]] = [json.loads(line) for line in lines]
RELEASES = sorted({release for case in CASES for release in case["expected"]})


def test_the_cases_are_many() -> None:
    assert len(CASES) >= 250
    assert len(RELEASES) == 29


def test_the_cases_fit_the_facts_schema() -> None:
    for case in CASES:
        assert facts_from_document(Document.unmarked("case", case["facts"])) == case["facts"]


@pytest.mark.parametrize("release", RELEASES)
def test_every_row_of_a_release(catalog: Catalog, release: str) -> None:
    engine = catalog.find(release)
    assert isinstance(engine, EngineRelease)
    wrong = []
    for case in CASES:
        if release not in case["expected"]:
            continue
        runner, *said = case["expected"][release]  # "v1", "v2", or "error" and the features or the message
        found = resolve(PolicySet(), engine, Facts({**case["facts"], "vllm": release}))
        got = found.runner if found.status == "ok" else found.status
        same = got == runner
        if runner == "error" and isinstance(said[0], list):
            same = same and {f for error in found.errors for f in error.features} == set(said[0])
        if not same:
            wrong.append((case["id"], runner, said, got, found.errors))
    assert wrong == []
