"""Default runners, asserted in one line, and the sample suite of a plugin's repository."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from policy.engine import Catalog
from policy.input_error import InputError
from runnerctl.testing import assert_default_runner, default_runner
from runnerctl.testing.suite import KNOWN, SWITCHES, DefaultRunnerSuite

RELEASES = [r for r in Catalog().releases if KNOWN[0] <= Version(r) < KNOWN[1]]


@pytest.mark.parametrize(
    ("architecture", "release", "expected", "options"),
    [
        ("LlamaForCausalLM", "0.22.0", "v1", {}),
        ("LlamaForCausalLM", "0.23.0", "v2", {}),
        ("LlamaForCausalLM", "0.23.0+cu129", "v2", {}),
        ("LlamaForCausalLM", "0.23.0", "v1", {"switch": "0"}),
        ("LlamaForCausalLM", "0.23.0", "v1", {"has_triton": False}),
        ("LlamaForCausalLM", "0.23.0", "refused", {"has_triton": False, "switch": "1"}),
        ("LlamaForCausalLM", "0.23.0", "refused", {"switch": "yes"}),
        ("LlamaForCausalLM", "0.23.0", "v1", {"speculative_config": {"method": "suffix"}}),
        ("LlamaForCausalLM", "0.23.0", "v1", {"speculative_config__method": "suffix"}),
        ("Qwen3MoeForCausalLM", "0.28.0", "v1", {"is_moe": True}),
        ("Qwen3MoeForCausalLM", "0.28.0", "v2", {"is_moe": False}),
        ("BertModel", "0.28.0", "v1", {}),
        ("OursForCausalLM", "0.24.0", "v1", {}),
        ("OursForCausalLM", "0.25.0", "v2", {}),
        ("DeepseekV32ForCausalLM", "0.29.0", "v1", {"platform": "rocm"}),
    ],
)
def test_one_line_says_what_to_expect(
    architecture: str, release: str, expected: Any, options: dict[str, Any]
) -> None:
    assert_default_runner(architecture, release, expected, **options)


@pytest.mark.parametrize(
    ("architecture", "expected", "options", "words"),
    [
        ("LlamaForCausalLM", "v1", {}, ["v2, expected v1", "vLLM itself: dense models"]),
        (
            "LlamaForCausalLM",
            "v2",
            {"switch": "1", "has_triton": False},
            ["refused, expected v2", "the switch: VLLM_USE_V2_MODEL_RUNNER=1 is set", "requires Triton"],
        ),
        # Whether a class that can have experts does, only a checkpoint tells.
        (
            "Qwen3MoeForCausalLM",
            "v1",
            {},
            ["undetermined, expected v1", "`model_config.is_moe` is not known"],
        ),
    ],
)
def test_another_answer_comes_with_its_reasons(
    architecture: str, expected: Any, options: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_default_runner(architecture, "0.28.0", expected, **options)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("release", "facts", "message"),
    [
        ("0.23.0", {"is_mo": True}, "unknown fact `is_mo`; did you mean `model_config.is_moe`"),
        ("new", {}, "`new` is not a release"),
    ],
)
def test_a_question_that_cannot_be_asked(release: str, facts: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        assert_default_runner("LlamaForCausalLM", release, "v1", **facts)


def test_an_answer_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="`v3` is no answer; one of v1, v2, refused"):
        assert_default_runner("LlamaForCausalLM", "0.23.0", "v3")  # type: ignore[arg-type]


def test_the_answer_is_that_of_the_policies_where_there_are_any(tmp_path: Path) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text(
        "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: ours}\nrules:\n"
        "  - {id: a, match: {architectures: [LlamaForCausalLM]}, runner: v1, enforce: require}\n"
    )
    assert_default_runner("LlamaForCausalLM", "0.23.0", "v1", switch="1", policies=[policy])
    assert_default_runner("MistralForCausalLM", "0.23.0", "v2", policies=[policy])


@pytest.mark.parametrize("release", RELEASES)
def test_the_samples_own_table_agrees_with_the_catalog(release: str) -> None:
    suite = DefaultRunnerSuite()
    for model, (architecture, facts) in suite.models.items():
        for switch in SWITCHES:
            found = default_runner(architecture, release, switch=switch, **facts).runner
            assert (model, switch, found) == (model, switch, suite._own(model, switch, release))


def run_suite(tmp_path: Path, text: str, release: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "test_ours.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--vllm-release", release],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("text", "release", "counts"),
    [
        ("from runnerctl.testing.suite import *", "0.23.0", "18 passed, 18 skipped"),
        ("from runnerctl.testing.suite import *", "0.33.0", "18 passed, 18 skipped"),
        (
            "from runnerctl.testing.suite import DefaultRunnerSuite\n\n"
            "class TestOurs(DefaultRunnerSuite):\n"
            "    models = {'ours': ('OurModelForCausalLM', {'is_moe': False})}\n"
            "    expected = {('ours', None): 'v2', ('ours', '0'): 'v1', ('ours', '1'): 'v1'}\n",
            "0.25.0",
            "1 failed, 2 passed, 3 skipped",
        ),
    ],
    ids=["one-line", "newest", "a-wrong-expectation-fails"],
)
def test_a_plugins_repository_takes_the_suite_over(
    tmp_path: Path, text: str, release: str, counts: str
) -> None:
    done = run_suite(tmp_path, text, release)
    assert done.stdout.strip().splitlines()[-1].rpartition(" in ")[0] == counts, done.stdout


def test_an_expectation_of_no_row_is_refused(tmp_path: Path) -> None:
    text = (
        "from runnerctl.testing.suite import DefaultRunnerSuite\n\n"
        "class TestOurs(DefaultRunnerSuite):\n    expected = {('lama', None): 'v1'}\n"
    )
    done = run_suite(tmp_path, text, "0.23.0")
    assert done.returncode != 0
    assert "TestOurs.expected: ('lama', None) is no row" in done.stdout + done.stderr
