"""Terminals that know few letters, and streams that take nothing more: the answer and its exit code stay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RUNNERCTL = str(Path(sys.executable).parent / "runnerctl")
POLICY = """apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {name: p, owner: größe}
rules:
  - {id: a, match: {nöpe: 1}, runner: v1, reason: größe}
"""
NARROW = {
    "an ASCII stream": {"PYTHONIOENCODING": "ascii"},
    "the C locale": {"LC_ALL": "C", "PYTHONUTF8": "0"},
    "Latin-1": {"PYTHONIOENCODING": "latin-1"},
}
WIDE = {"PYTHONIOENCODING": "utf-8"}
VERBS = {
    "lint": ["lint", "ü.yaml"],
    "lint as JSON": ["lint", "ü.yaml", "--format", "json"],
    "lint as SARIF": ["lint", "ü.yaml", "--format", "sarif"],
    "lint for GitHub": ["lint", "ü.yaml", "--format", "github"],
    "lint as JUnit": ["lint", "ü.yaml", "--format", "junit"],
    "lint by Typer": ["lint", "--", "ü.yaml", "€"],
    "fmt": ["fmt", "--check", "ü.yaml"],
    "test": ["test", "ü.yaml"],
    "diff": ["diff", "ü.yaml", "ü.yaml"],
    "resolve": ["resolve", "-p", "ü.yaml"],
    "a file that is not there": ["lint", "ä€.yaml"],
    "explain": ["explain", "ü"],
}


def run(
    folder: Path, words: list[str], env: dict[str, str], given: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    whole = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), **env}
    return subprocess.run(
        [RUNNERCTL, *words], cwd=folder, env=whole, input=given, capture_output=True, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ü.yaml").write_text(POLICY, "utf-8")
    return tmp_path


@pytest.mark.parametrize("env", NARROW.values(), ids=NARROW.keys())
@pytest.mark.parametrize("words", VERBS.values(), ids=VERBS.keys())
def test_the_exit_code_does_not_depend_on_the_terminal(
    folder: Path, words: list[str], env: dict[str, str]
) -> None:
    there, here = run(folder, words, WIDE), run(folder, words, env)
    assert b"Traceback" not in here.stderr
    assert here.returncode == there.returncode
    assert bool(here.stdout) == bool(there.stdout)


def test_letters_that_a_stream_lacks_are_escaped(folder: Path) -> None:
    done = run(folder, ["lint", "ü.yaml"], NARROW["an ASCII stream"])
    assert b"\\xfc.yaml:5:" in done.stdout
    assert b"gr\\xf6\\xdfe" in done.stdout


def test_json_stays_json(folder: Path) -> None:
    done = run(folder, ["lint", "ü.yaml", "--format", "json"], NARROW["an ASCII stream"])
    assert "nöpe" in json.dumps(json.loads(done.stdout), ensure_ascii=False)


@pytest.mark.parametrize("words", [["fmt", "-"], ["lint", "--fix", "-"]], ids=" ".join)
def test_a_policy_that_goes_through_is_not_escaped(folder: Path, words: list[str]) -> None:
    done = run(folder, words, NARROW["an ASCII stream"], POLICY.encode())
    assert "größe".encode() in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize(
    "words",
    [
        ["lint", "ü.yaml"],
        ["lint", "ü.yaml", "--no-cache", "--format", "sarif"],
        ["lint", "--format", "json", "-"],
        ["explain"],
        ["explain", "RE315"],
        ["catalog", "list"],
        ["schema", "policy"],
        ["fmt", "-"],
        ["test", "--help"],
    ],
    ids=" ".join,
)
def test_a_disk_that_is_full(folder: Path, words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [RUNNERCTL, *words],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            input=POLICY.encode(),
            check=False,
        )
    assert done.returncode == 2
    said = [line for line in done.stderr.decode().splitlines() if "checked:" not in line]
    assert said == ["cannot write: no space left on device"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("words", [["lint", "ü.yaml"], ["resolve", "-p", "none.yaml"]], ids=" ".join)
def test_messages_that_nobody_can_read(folder: Path, words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [RUNNERCTL, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=full, check=False
        )
    assert done.returncode == 2


@pytest.mark.parametrize("words", [["lint", "ü.yaml"], ["explain"], ["catalog", "list"]], ids=" ".join)
def test_a_reader_that_has_gone(folder: Path, words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [RUNNERCTL, *words], cwd=folder, stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert done.returncode == 141
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [["lint", "-"], ["fmt", "-"], ["resolve", "--vllm", "0.23.0", "--facts", "-"]],
    ids=lambda words: words[0],
)
def test_standard_input_without_an_end_is_not_read_for_ever(words: list[str]) -> None:
    with Path("/dev/zero").open("rb") as endless:
        done = subprocess.run(
            [RUNNERCTL, *words], stdin=endless, capture_output=True, check=False, timeout=60, text=True
        )
    assert done.returncode == 2
    assert "the file is too large: the limit is 8 MiB" in done.stdout + done.stderr
