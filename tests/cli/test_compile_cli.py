"""`runnerctl compile`: what it writes, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from policy.compiled.artifact import load_artifact
from policy.document.schema import load_schema

Cli = Callable[..., Any]

HEAD = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: NAME}\nrules:\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, rule in {
        "a": "{id: a, match: {architectures: AcmeForCausalLM}, runner: v2}",
        "b": "{id: b, match: {architectures: AcmeForCausalLM}, runner: v1}",
        "c": "{id: c, match: {nope: 1}, runner: v1}",
    }.items():
        (tmp_path / f"{name}.yaml").write_text(HEAD.replace("NAME", name) + f"- {rule}\n")
    (tmp_path / "none").mkdir()
    return tmp_path


def test_artifact(cli: Cli, tmp_path: Path) -> None:
    printed = cli("compile", "--policy", "a.yaml", "--vllm", "0.23.0")
    assert (printed.code, printed.err) == (0, "")
    jsonschema.validate(printed.json, load_schema("compiled-policy"))
    assert "AcmeForCausalLM" in printed.json["default_v2_architectures"]
    written = cli("compile", "--policy", "a.yaml", "--vllm", "0.23.0", "-o", tmp_path / "policy.json")
    assert (written.code, written.out, written.err) == (0, "", "")
    assert (tmp_path / "policy.json").read_text() == printed.out
    assert load_artifact(tmp_path / "policy.json").digest == printed.json["digest"]


@pytest.mark.parametrize("release", ["0.11.0", "0.21.0", "0.29.0", "0.33.0"])
def test_no_set_in_these_releases(cli: Cli, release: str) -> None:
    assert cli("compile", "--policy", "a.yaml", "--vllm", release).json["default_v2_architectures"] is None


# words -> (exit code, a part of stderr)
REFUSED: dict[str, tuple[list[str], int, str]] = {
    "no policy": (["--vllm", "0.23.0"], 2, "nothing to compile"),
    "no release": (["--policy", "a.yaml"], 2, "--vllm"),
    "missing file": (["--policy", "missing.yaml", "--vllm", "0.23.0"], 2, "missing.yaml: cannot be read"),
    "folder without policies": (["--policy", "none", "--vllm", "0.23.0"], 2, "holds no policy"),
    "invalid policy": (["--policy", "c.yaml", "--vllm", "0.23.0"], 2, "c.yaml:5:19: unknown fact `nope`"),
    "no such version": (["--policy", "a.yaml", "--vllm", "new"], 2, "`new` is not a release"),
    "unknown release": (["--policy", "a.yaml", "--vllm", "0.99.0"], 3, "--assume"),
    "conflict": (["--policy", "a.yaml", "--policy", "b.yaml", "--vllm", "0.23.0"], 1, "AcmeForCausalLM"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_and_nothing_written(cli: Cli, tmp_path: Path, case: str) -> None:
    words, code, part = REFUSED[case]
    before = sorted(tmp_path.rglob("*"))
    answer = cli("compile", *words, "-o", "policy.json")
    assert (answer.code, answer.out) == (code, "")
    assert part in answer.err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("output", ["missing/policy.json", "a.yaml/policy.json", "none"])
def test_output_that_cannot_be_written(cli: Cli, tmp_path: Path, output: str) -> None:
    before = {p: p.is_file() and p.read_bytes() for p in tmp_path.rglob("*")}
    answer = cli("compile", "--policy", "a.yaml", "--vllm", "0.23.0", "-o", output)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"{output}: cannot be written: ")
    assert {p: p.is_file() and p.read_bytes() for p in tmp_path.rglob("*")} == before


def test_platform_that_does_not_exist(cli: Cli) -> None:
    answer = cli("compile", "--policy", "a.yaml", "--vllm", "0.28.0", "--platform", "CUDA")
    assert answer.code == 2 or answer.err
