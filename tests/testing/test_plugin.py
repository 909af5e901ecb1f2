"""The pytest plugin, in test runs of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SWITCH = "VLLM_USE_V2_MODEL_RUNNER"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs pytest on a file of tests, under the release given."""

    def call(text: str, *options: str, release: str | None = "0.23.0") -> subprocess.CompletedProcess[str]:
        (tmp_path / "test_it.py").write_text("import os, pytest\n\nSWITCH = " + repr(SWITCH) + "\n" + text)
        env = {n: v for n, v in os.environ.items() if n != SWITCH and not n.startswith("PYTEST_")}
        asked = [] if release is None else ["--vllm-release", release]
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-p",
                "no:cacheprovider",
                "--strict-markers",
                "-rs",
                "-v",
                *asked,
                *options,
                "test_it.py",
            ],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )

    return call


def counts(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout.strip().splitlines()[-1].strip("= ").rpartition(" in ")[0]


def test_a_marked_test_runs_under_its_runner_and_the_next_does_not(run: Run) -> None:
    done = run(
        """
@pytest.mark.model_runner("v1")
def test_one(): assert os.environ[SWITCH] == "0"

@pytest.mark.model_runner("v2")
def test_two(): assert os.environ[SWITCH] == "1"

def test_none(): assert SWITCH not in os.environ
"""
    )
    assert counts(done) == "3 passed", done.stdout


def test_both_runs_once_under_each_and_the_id_says_so(run: Run) -> None:
    done = run(
        """
@pytest.mark.both_model_runners
def test_plain(): assert os.environ[SWITCH] in "01"

@pytest.mark.both_model_runners
@pytest.mark.parametrize("n", [1, 2])
class TestClass:
    def test_it(self, model_runner, n): assert os.environ[SWITCH] == {"v1": "0", "v2": "1"}[model_runner]
"""
    )
    assert counts(done) == "6 passed", done.stdout
    for name in ("test_plain[v1]", "test_plain[v2]", "test_it[v1-1]", "test_it[v2-2]"):
        assert f"{name} PASSED" in done.stdout


def test_a_module_fixture_is_built_under_each_runner_once(run: Run) -> None:
    done = run(
        """
built = []

@pytest.fixture(scope="module")
def engine(model_runner):
    built.append((model_runner, os.environ[SWITCH]))
    yield model_runner

@pytest.mark.both_model_runners
def test_a(engine, model_runner): assert engine == model_runner

@pytest.mark.both_model_runners
def test_b(engine): pass

def test_last(): assert built == [("v1", "0"), ("v2", "1")] and SWITCH not in os.environ
"""
    )
    assert counts(done) == "5 passed", done.stdout


@pytest.mark.parametrize(
    ("marker", "release", "reason"),
    [
        ('model_runner("v2", has_triton=False)', "0.23.0", "Model Runner V2 requires Triton."),
        ('model_runner("v2", speculative_config__method="suffix")', "0.23.0", "speculative method 'suffix'"),
        ('model_runner("v1", prefill_context_parallel=1)', "0.23.0", None),
        ('model_runner("v1")', None, "no vLLM is installed here; name a release with --vllm-release"),
        ('model_runner("v2", has_triton=False)', "0.99.0", ""),
        ('model_runner("v1")', "not-a-release", None),
    ],
)
def test_a_runner_that_cannot_be_had_is_skipped_with_the_reason(
    run: Run, marker: str, release: str | None, reason: str | None
) -> None:
    done = run(f"@pytest.mark.{marker}\ndef test_it(): pass\n", release=release)
    if reason is None:
        assert done.returncode == 4  # the question itself is wrong
        assert "unknown fact `prefill_context_parallel`" in done.stderr or "is not a release" in done.stderr
    elif reason:
        assert counts(done) == "1 skipped", done.stdout
        assert reason in done.stdout
    else:
        assert counts(done) == "1 passed", done.stdout  # nobody knows, so the test itself will show


def test_both_skips_the_one_that_cannot_be_had(run: Run) -> None:
    done = run(
        "@pytest.mark.both_model_runners(has_triton=False)\ndef test_it(model_runner): assert model_runner == 'v1'\n"
    )
    assert counts(done) == "1 passed, 1 skipped"
    assert "model runner v2:" in done.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('@pytest.mark.model_runner("v3")\ndef test_it(): pass', "`v3` is no model runner"),
        ("@pytest.mark.model_runner\ndef test_it(): pass", 'write @pytest.mark.model_runner("v1")'),
        (
            '@pytest.mark.model_runner("v1")\n@pytest.mark.both_model_runners\ndef test_it(): pass',
            "it can have one of them",
        ),
        (
            "import unittest\n\n@pytest.mark.both_model_runners\nclass TestIt(unittest.TestCase):\n"
            "    def test_it(self): pass",
            "unittest's cases take no parameters",
        ),
    ],
)
def test_a_marker_that_cannot_work_stops_the_run(run: Run, text: str, message: str) -> None:
    done = run(text)
    assert done.returncode == 4
    assert message in done.stderr


def test_a_unittest_case_can_have_one_runner(run: Run) -> None:
    done = run(
        "import unittest\n\n@pytest.mark.model_runner('v1')\nclass TestIt(unittest.TestCase):\n"
        "    def test_it(self): assert os.environ[SWITCH] == '0'\n"
    )
    assert counts(done) == "1 passed"


def test_the_fixture_forces_until_the_test_is_over(run: Run) -> None:
    done = run(
        """
def test_it(force_runner):
    assert force_runner("v1").overrides == ()
    assert os.environ[SWITCH] == "0"
    force_runner("v2")
    assert os.environ[SWITCH] == "1"

def test_after(): assert SWITCH not in os.environ

def test_fixture_without_a_marker(model_runner): pass
"""
    )
    assert counts(done) == "2 passed, 1 error", done.stdout
    assert "the fixture `model_runner` is for tests that are marked" in done.stdout


def test_a_run_without_marks_imports_nothing_of_ours(run: Run) -> None:
    done = run(
        """
import sys

def test_it():
    ours = {n for n in sys.modules if n.partition(".")[0] in ("policy", "runnerctl")}
    assert ours == {"runnerctl", "runnerctl.testing", "runnerctl.testing.plugin"}
    assert "yaml" not in sys.modules and "wrapt" not in sys.modules
""",
        release=None,
    )
    assert counts(done) == "1 passed", done.stdout


@pytest.mark.parametrize(
    ("text", "release", "message"),
    [
        (
            '@pytest.mark.both_model_runners("v1")\ndef test_it(): ...',
            "0.23.0",
            "runs under both and names none",
        ),
        (
            "def test_it(): ...",
            "junk",
            "`junk` is not a release: a release is a PEP 440 version such as 0.23.0",
        ),
    ],
)
def test_words_that_mean_nothing_are_refused(run: Run, text: str, release: str, message: str) -> None:
    done = run(text, release=release)
    assert done.returncode in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED)
    assert message in done.stdout + done.stderr


@pytest.mark.parametrize("verdict", [None, "{"])
def test_a_runner_that_a_guard_forbids_fails_its_test_alone(
    run: Run, monkeypatch: pytest.MonkeyPatch, verdict: str | None
) -> None:
    monkeypatch.setenv("RUNNERCTL_COMPILED_POLICY", "policy.json")
    if verdict is not None:
        monkeypatch.setenv("RUNNERCTL_VERDICT", verdict)
    done = run('@pytest.mark.model_runner("v1")\ndef test_one(): ...\n\ndef test_two(): ...\n')
    assert counts(done) == "1 failed, 1 passed" or counts(done) == "1 passed, 1 error"
    assert "cannot be forced here" in done.stdout or "RUNNERCTL_VERDICT" in done.stdout
