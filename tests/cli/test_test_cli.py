"""`runnerctl test`: what passes, what fails and says why, and nothing to check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

POLICY = """
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {{name: p}}
rules:
  - {{id: a, match: {{architectures: LlamaForCausalLM}}, runner: v1, enforce: require}}
tests:
  - name: llama
    given: {{vllm: 0.23.0, architectures: [LlamaForCausalLM]{more}}}
    expect: {expect}
"""

CASES = {
    "passes": ("", "{runner: v1, rule: a}", 0, "1 passed, 0 failed"),
    "another runner": ("", "{runner: v2}", 1, "runner is v1, expected v2"),
    "another rule": ("", "{rule: b}", 1, "rule is a, expected b"),
    "another variable": (
        "",
        "{env: {VLLM_USE_V2_MODEL_RUNNER: '1'}}",
        1,
        "VLLM_USE_V2_MODEL_RUNNER is 0, expected 1",
    ),
    "another status": ("", "{status: error}", 1, "status is ok, expected error"),
    "no error": ("", "{error: conflicting-rules}", 1, "error is none, expected conflicting-rules"),
    "facts that are none": (", tp: 2", "{runner: v1}", 2, "unknown fact `tp`"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_test(cli: Any, tmp_path: Path, case: str) -> None:
    more, expect, code, part = CASES[case]
    path = tmp_path / "p.yaml"
    path.write_text(POLICY.format(more=more, expect=expect))
    answer = cli("test", path)
    assert answer.code == code
    assert part in answer.out + answer.err


def test_nothing_to_check(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(POLICY.format(more="", expect="{runner: v1}"))
    answer = cli("test", path, "-k", "mistral")
    assert (answer.code, answer.out) == (2, "")
    assert "nothing to check" in answer.err


def test_the_shipped_policies(cli: Any) -> None:
    answer = cli("test", Path(__file__).parents[2] / "configs" / "fleet.yaml")
    assert answer.code == 0
