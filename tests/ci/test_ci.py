"""Hooks, the GitHub action and the snippets for CI say commands that exist, and run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from policy.document import parse, read_source
from policy.document.source import Source
from runnerctl.cli.main import VERBS, application
from runnerctl.cli.snippets import GITHUB, GITLAB, PRE_COMMIT

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
HOOKS = parse(read_source(ROOT / ".pre-commit-hooks.yaml")).data
ACTION = parse(read_source(ROOT / "action.yml")).data


def action_scripts() -> dict[str, str]:
    return {step["name"]: step["run"] for step in ACTION["runs"]["steps"]}


def commands() -> Iterator[list[str]]:
    """The words of every `runnerctl` command of the hooks, the action and the snippets."""
    gitlab = parse(Source("", GITLAB)).data["runner-policies"]["script"]
    lines = [hook["entry"] for hook in HOOKS] + gitlab
    lines += [line for script in action_scripts().values() for line in script.splitlines()]
    for line in lines:
        found = re.search(r'(?:^|/)runnerctl"? ((?:fmt|lint|test|[a-z]+ )\b.*)', line.strip())
        if found and "pip" not in line:
            yield shlex.split(found[1])


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_the_verb_and_its_options_exist(words: list[str]) -> None:
    assert words[0] in VERBS
    command: Any = typer.main.get_command(application([words[0]]))
    known = {name for parameter in command.commands[words[0]].params for name in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_the_commands_are_found() -> None:
    assert sorted(words[0] for words in commands()) == sorted(["fmt", "lint", "test"] * 3)


def test_there_is_a_hook_for_each_check() -> None:
    assert [hook["id"] for hook in HOOKS] == ["runnerctl-lint", "runnerctl-test", "runnerctl-fmt"]
    assert [hook["entry"] for hook in HOOKS] == ["runnerctl lint", "runnerctl test", "runnerctl fmt"]


def test_pre_commit_takes_the_hooks() -> None:
    words = [sys.executable, "-m", "pre_commit", "validate-manifest", ".pre-commit-hooks.yaml"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pre_commit_takes_the_snippet(tmp_path: Path) -> None:
    path = tmp_path / ".pre-commit-config.yaml"
    path.write_text(PRE_COMMIT)
    words = [sys.executable, "-m", "pre_commit", "validate-config", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (repository,) = parse(Source("", PRE_COMMIT)).data["repos"]
    assert {hook["id"] for hook in repository["hooks"]} == {hook["id"] for hook in HOOKS}


FILES = {
    "configs/fleet.yaml": True,
    "configs/fleet_test.yml": True,
    "runnerctl.toml": True,
    "sub/pyproject.toml": True,
    "README.md": False,
    "x.yaml.txt": False,
    "setup.toml": False,
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("hook", HOOKS, ids=lambda h: h["id"])
def test_files_that_run_a_hook(hook: dict[str, Any], name: str) -> None:
    assert bool(re.search(hook["files"], name)) == FILES[name]


def test_the_hooks_run(tmp_path: Path) -> None:
    """As pre-commit runs them, in a repository of somebody's, without file names."""
    (tmp_path / ".git").mkdir()
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    first = ["runnerctl", "init", "--owner", "inference-platform"]
    subprocess.run(first, cwd=tmp_path, env=environment, check=True, stdin=subprocess.DEVNULL)
    for hook in HOOKS:
        done = subprocess.run(
            shlex.split(hook["entry"]),
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (hook["entry"], done.stdout + done.stderr)


def run_step(name: str, folder: Path, tmp_path: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """A step of the action as GitHub runs it: bash, its inputs in its environment, nothing pasted into the script."""
    place = tmp_path / "runnerctl"
    if not place.exists():
        place.mkdir()
        (place / "bin").symlink_to(BIN)
    (step,) = (step for step in ACTION["runs"]["steps"] if step["name"] == name)
    inputs = {key: value["default"] for key, value in ACTION["inputs"].items()} | more
    given = {
        variable: re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda found: inputs[found[1]], value)
        for variable, value in step["env"].items()
    }
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env={**os.environ, "RUNNER_TEMP": str(tmp_path), **given},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", ["format", "lint", "test"])
@pytest.mark.parametrize("paths", ["", "configs", "configs/fleet.yaml configs/vllm-0.23-defaults.yaml"])
def test_the_steps_of_the_action_run(tmp_path: Path, name: str, paths: str) -> None:
    done = run_step(name, ROOT, tmp_path, paths=paths)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_action_fails_where_a_check_fails(tmp_path: Path) -> None:
    bad = (ROOT / "configs/fleet.yaml").read_text().replace("runner: v1", "runner: v2")
    (tmp_path / "p.yaml").write_text(
        bad.replace("kind: RunnerPolicy\n", "").replace("apiV", "kind: RunnerPolicy\napiV")
    )
    assert run_step("format", tmp_path, tmp_path, paths="p.yaml").returncode == 1
    assert run_step("test", tmp_path, tmp_path, paths="p.yaml").returncode == 1
    covered = run_step("test", ROOT, tmp_path, paths="configs", **{"fail-under": "100"})
    assert covered.returncode == 0


def test_what_lint_says_goes_to_a_file(tmp_path: Path) -> None:
    done = run_step("lint", ROOT, tmp_path, format="sarif", output=str(tmp_path / "r.sarif"))
    assert (done.returncode, done.stdout) == (0, "")
    assert '"version": "2.1.0"' in (tmp_path / "r.sarif").read_text()


def test_inputs_are_never_pasted_into_scripts() -> None:
    assert not any("${{" in script for script in action_scripts().values())


def test_the_snippets_use_what_the_action_takes() -> None:
    (job,) = parse(Source("", GITHUB)).data["jobs"].values()
    (step,) = (step for step in job["steps"] if "runnerctl" in step["uses"])
    assert set(step["with"]) <= set(ACTION["inputs"])


@pytest.mark.parametrize(
    ("words", "text"),
    [(["--ci", "github"], GITHUB), (["--ci", "gitlab"], GITLAB), (["--pre-commit"], PRE_COMMIT)],
    ids=["github", "gitlab", "pre-commit"],
)
def test_init_prints_the_snippets(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = cli("init", *words)
    assert (answer.code, answer.out, answer.err) == (0, text, "")
    assert list(tmp_path.iterdir()) == []
