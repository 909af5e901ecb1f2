"""What RE301 says of architectures and RE303 of ranges, wherever a match has them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HEAD = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: p, owner: team}\nrules:\n"
OTHER = "so `ne` holds for every model that has an architecture"

# A match, and the messages.
MATCHES: dict[str, tuple[str, list[str]]] = {
    "a name": ("architectures: LamaForCausalLM", ["no release registers `LamaForCausalLM`"]),
    "a name by `ne`": ("architectures: {ne: Lama}", [f"no release registers `Lama`, {OTHER}"]),
    "a pattern by `ne`": ("architectures: {ne: 'Lama*'}", [f"no registered architecture matches `Lama*`, {OTHER}"]),
    "one by `ne` in `any`": ("any: [{architectures: {ne: Lama}}]", [f"no release registers `Lama`, {OTHER}"]),
    "one by `ne` in `not`": ("not: {architectures: {ne: Lama}}", [f"no release registers `Lama`, {OTHER}"]),
    "the draft model's": (
        "speculative_config.draft_model_config.architectures: {ne: Lama}",
        [f"no release registers `Lama`, {OTHER}"],
    ),
    "one that there is, by `ne`": ("architectures: {ne: LlamaForCausalLM}", []),
    "whether there is one": ("architectures: {exists: true}", []),
    "another fact by `ne`": ("platform: {ne: rocm}", []),
    "a text that is no version": ('vllm: "===foo"', ["no release is in `===foo`"]),
    "one of a list": ('vllm: ["=== foo", ">=0.23.dev0"]', ["no release is in `=== foo`"]),
    "a text beside a version": ('vllm: "===foo,==0.23.7"', ["no version is in `===foo,==0.23.7`"]),
    "a text with a star": ('vllm: "===*"', ["no release is in `===*`"]),
    "a text that is a version": ('vllm: "===0.23.7"', ["no release is in `===0.23.7`"]),
    "a text that is a release": ('vllm: "===0.23.0"', []),
}  # fmt: skip


@pytest.mark.parametrize("case", MATCHES)
def test_what_the_engine_does_not_have(cli: Callable[..., Any], here: Path, case: str) -> None:
    match, messages = MATCHES[case]
    (here / "p.yaml").write_text(f"{HEAD}  - {{id: a, match: {{{match}}}, runner: v1}}\n")
    answer = cli("lint", "p.yaml", "--select", "RE301,RE303", "--format", "json")
    assert [finding["message"] for finding in answer.json["findings"]] == messages
    assert cli("lint", "p.yaml", "--diff").code == 0
