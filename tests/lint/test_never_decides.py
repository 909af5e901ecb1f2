"""What RM211 says of why a rule never decides, and of what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HEAD = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: p, owner: team}\nrules:\n"
NEVER = "rule `z` never decides: "
CASES = {
    "an equal one disagrees everywhere": (
        ["{id: b, match: {vllm: '>=0.22.dev0'}, runner: v2}", "{id: z, match: {vllm: '>=0.25'}, runner: v1}"],
        "wherever it matches it conflicts with `b`",
        "give one of them a priority, or narrow one of them",
    ),
    "a priority means nothing to two that require": (
        [
            "{id: b, match: {vllm: '>=0.22.dev0'}, runner: v2, enforce: require}",
            "{id: z, match: {vllm: '>=0.25'}, runner: v1, enforce: require}",
        ],
        "wherever it matches it conflicts with `b`",
        "narrow one of them",
    ),
    "an equal one sets a variable differently": (
        [
            "{id: b, match: {}, runner: v2, env: {OURS: a}}",
            "{id: z, match: {vllm: '>=0.25'}, runner: v2, env: {OURS: b}}",
        ],
        "wherever it matches it conflicts with `b`",
        "give one of them a priority, or narrow one of them",
    ),
    "one above in a part, an equal one in the rest": (
        [
            "{id: a, match: {platform: rocm}, runner: v2, enforce: require}",
            "{id: b, match: {platform: [cuda, cpu]}, runner: v2}",
            "{id: z, match: {platform: [rocm, cuda]}, runner: v1}",
        ],
        "wherever it matches, `a` decides, or it conflicts with `b`",
        "give one of them a priority, or narrow one of them",
    ),
    "an equal one agrees": (
        ["{id: b, match: {}, runner: v2}", "{id: z, match: {vllm: '>=0.25'}, runner: v2}"],
        "wherever it matches, `b` decides",
        "take it out, or narrow what outranks it",
    ),
    "one above disagrees": (
        ["{id: b, match: {}, runner: v2, priority: 5}", "{id: z, match: {vllm: '>=0.25'}, runner: v1}"],
        "wherever it matches, `b` decides",
        "take it out, or narrow what outranks it",
    ),
    "its match never holds": (
        ["{id: z, match: {vllm: '<0.25', all: [{vllm: '>=0.26'}]}, runner: v1}"],
        "its match never holds",
        "take it out",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_why_and_what_to_do(cli: Callable[..., Any], here: Path, case: str) -> None:
    rules, why, help_ = CASES[case]
    (here / "p.yaml").write_text(HEAD + "".join(f"  - {rule}\n" for rule in rules))
    answer = cli("lint", "p.yaml", "--select", "RM211", "--format", "json")
    found = json.loads(answer.out)["findings"]
    assert [(f["message"], f["help"]) for f in found] == [(NEVER + why, help_)]
