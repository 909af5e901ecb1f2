"""`runnerctl init`: a first policy that passes its own tests, never over a file that is there."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from policy.document import Source, parse
from policy.document.schema import schema_folder
from policy.formatting.format import format_text
from policy.rules.policy_set import load_policies

RUNNERCTL = Path(sys.executable).parent / "runnerctl"

# Options, and what the policy is to say.
CASES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "nothing": ([], {"rules": 0}),
    "who": (["--name", "fleet", "--owner", "team: x #1"], {"name": "fleet", "owner": "team: x #1", "rules": 0}),
    "a release": (["--release", "0.28.0"], {"rules": 0}),
    "every model on V1": (
        ["--name", "fleet", "--release", "0.28.0", "--require", "v1", "--because", "It hangs: 'x' \"y\" # z"],
        {"rules": 1, "id": "fleet-needs-v1", "reason": "It hangs: 'x' \"y\" # z", "vllm": ">=0.28.dev0,<0.29.dev0"},
    ),
    "one model on V2": (
        ["--release", "0.23.0", "--require", "v2", "--because", "it is faster", "--architecture", "MistralForCausalLM"],
        {"rules": 1, "id": "mistral-needs-v2", "architectures": "MistralForCausalLM"},
    ),
    "a glob, and a candidate": (
        ["--release", "0.25.0rc1", "--require", "v1", "--because", "x", "--architecture", "Gemma4*"],
        {"rules": 1, "id": "gemma4-needs-v1", "architectures": "Gemma4*"},
    ),
    "two models follow the release": (
        ["--require", "engine", "--because", "x", "--architecture", "LlamaForCausalLM", "--architecture", "X"],
        {"rules": 1, "id": "llama-follows-vllm", "architectures": ["LlamaForCausalLM", "X"]},
    ),
    "models that are spelled oddly": (
        ["--require", "v1", "--because", "x", "--architecture", "true", "--architecture", "A, B: [c] #"],
        {"rules": 1, "architectures": ["true", "A, B: [c] #"]},
    ),
    "models that are named twice": (
        [
            *("--require", "v1", "--because", "x", "--architecture", "BertModel", "--architecture", "Llama*"),
            *("--architecture", "BertModel", "--architecture", "LlamaForCausalLM", "--architecture", "Llama*"),
        ],
        {"rules": 1, "architectures": ["BertModel", "Llama*"]},
    ),
    "all but every model": (
        ["--require", "v1", "--because", "x", "--architecture", "*ForCausalLM", "--architecture", "Bert*"],
        {"rules": 1, "id": "all-needs-v1", "architectures": ["*ForCausalLM", "Bert*"]},
    ),
    "a release without the switch": (
        ["--release", "0.11.0", "--require", "v1", "--because", "x"], {"vllm": ">=0.11.dev0,<0.12.dev0"}
    ),
    "its own runner, pinned": (
        ["--release", "0.12.0", "--require", "v1", "--because", "x"], {"runner": "v1", "enforce": "require"}
    ),
    "evidence": (
        ["--require", "v2", "--because", "x", "--link", "https://example.org/?a=1#b"],
        {"rules": 1, "links": ["https://example.org/?a=1#b"]},
    ),
    "yes and numbers": (
        ["--name", "1.0", "--owner", "0x10", "--require", "v1", "--because", "true"],
        {"name": "1.0", "owner": "0x10", "reason": "true"},
    ),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", CASES)
def test_a_first_policy(cli: Any, folder: Path, case: str) -> None:
    words, wanted = CASES[case]
    answer = cli("init", *words)
    assert (answer.code, answer.out) == (0, "")
    text = (folder / "configs/policy.yaml").read_text()
    (file,) = load_policies([folder / "configs"]).files
    rule = file.rules[0] if file.rules else None
    said = {
        "name": file.name,
        "owner": file.owner,
        "rules": len(file.rules),
        **(dict(rule.data) | rule.data["match"] if rule else {}),
    }
    assert {key: said[key] for key in wanted} == wanted
    tested = cli("test", "--coverage", "--fail-under", "100") if rule else cli("test")
    assert tested.code == 0, tested.out + tested.err
    if rule:
        noticed = cli("test", "--mutation", "--fail-under", "100")
        assert noticed.code == 0, noticed.out + noticed.err
    assert format_text(Source("p.yaml", text)) == text
    assert max(map(len, text.splitlines())) < 150


def test_the_example_in_comments_is_a_rule(cli: Any, folder: Path) -> None:
    """Without a rule the policy shows one: take away the brackets and the `#`, and it is read."""
    cli("init", "p.yaml", "--name", "fleet", "--release", "0.28.0")
    text = (folder / "p.yaml").read_text()
    lines = text.replace("rules: []  # with the first rule, the brackets go", "rules:").splitlines()
    lines = [line[1:] if line.startswith("#  ") else line for line in lines]
    (folder / "q.yaml").write_text("\n".join(lines).replace("name: fleet", "name: other"))
    (rule,) = load_policies([folder / "q.yaml"]).rules
    assert (rule.id, rule.runner, rule.enforce) == ("fleet-needs-v1", "v1", "require")


LINTED = {
    "no rule": [],
    "a rule on V2": ["--require", "v2", "--because", "it is faster", "--link", "https://example.org/1"],
    "a rule on V1": [
        *(
            "--release",
            "0.28.0",
            "--require",
            "v1",
            "--because",
            "it hangs",
            "--link",
            "https://example.org/1",
        ),
        *("--architecture", "Gemma4*"),
    ],
}


@pytest.mark.parametrize("case", LINTED)
@pytest.mark.usefixtures("folder")
def test_lint_finds_nothing_once_it_is_said_who_and_why(cli: Any, case: str) -> None:
    assert cli("init", "--owner", "inference-platform", *LINTED[case]).code == 0
    answer = cli("lint", "--no-cache")
    assert (answer.code, answer.out) == (0, "")


PLACES = {
    "": "configs/policy.yaml",
    "a/b/c.yaml": "a/b/c.yaml",
    "new/": "new/policy.yaml",
    ".git": ".git/policy.yaml",
}


@pytest.mark.parametrize("given", PLACES)
def test_where_it_is_written(cli: Any, folder: Path, given: str) -> None:
    answer = cli("init", *([given] if given else []))
    target = folder / PLACES[given]
    assert answer.code == 0
    assert f"wrote {PLACES[given]}" in answer.err
    modeline = target.read_text().splitlines()[0]
    schema = modeline.removeprefix("# yaml-language-server: $schema=")
    assert (target.parent / schema).read_text() == (schema_folder() / "policy.schema.json").read_text()


def test_files_that_are_there_stay(cli: Any, folder: Path) -> None:
    (folder / "policy.schema.json").write_text("mine")
    assert cli("init", "p.yaml").code == 0
    assert (folder / "policy.schema.json").read_text() == "mine"
    (folder / "p.yaml").write_text("mine")
    answer = cli("init", "p.yaml")
    assert (answer.code, answer.out) == (2, "")
    assert "p.yaml: it exists, and is left as it is" in answer.err
    assert (folder / "p.yaml").read_text() == "mine"


REFUSED = {
    "a name": (["--name", "a b"], "--name a b: letters, digits"),
    "a release that is none": (["--release", "newest"], "`newest` is not a release"),
    "a release that nobody describes": (["--release", "9.9"], "--release 9.9: it is newer than the catalog"),
    "a nightly build": (["--release", "0.28.dev1"], "--release 0.28.dev1: a development version"),
    "no reason": (["--require", "v1"], "--because TEXT is missing"),
    "a reason for nothing": (["--because", "x"], "give --require"),
    "a glob of nothing": (
        ["--require", "v1", "--because", "x", "--architecture", "Nope*"],
        "--architecture Nope*: ",
    ),
    "a runner": (["--require", "v3"], "v3"),
    "a runner that the release does not have": (
        ["--release", "0.11.0", "--require", "v2", "--because", "x"],
        "--require v2: vLLM 0.11.0 cannot serve this deployment with v2",
    ),
    "no such place": (["/proc/x/p.yaml"], "cannot be written"),
    "a file where a folder should be": (["file/p.yaml"], "cannot be written"),
    "a link that is none": (
        ["--require", "v1", "--because", "x", "--link", "here"],
        "an item of `links` cannot be `here`",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(cli: Any, folder: Path, case: str) -> None:
    (folder / "file").write_text("")
    words, part = REFUSED[case]
    answer = cli("init", *words)
    assert (answer.code, answer.out) == (2, "")
    assert part in answer.err
    assert sorted(p.name for p in folder.iterdir()) == [".git", "file"]


@pytest.mark.usefixtures("folder")
def test_a_name_that_no_release_registers_is_said(cli: Any) -> None:
    words = ["--release", "0.28.0", "--require", "v1", "--because", "x", "--architecture", "LamaForCausalLM"]
    answer = cli("init", *words)
    assert answer.code == 0
    assert (
        "note: vLLM 0.28.0 does not register `LamaForCausalLM`; did you mean `LlamaForCausalLM`?"
        in answer.err
    )


# What is typed at each question, and what the policy says in the end.
TYPED = {
    "everything": ("fleet\nteam\n0.28.0\nv1\nGemma4*, LlamaForCausalLM\nit hangs\n", "gemma4-needs-v1"),
    "nothing": ("\n\n\n\n", None),
    "a runner at the second try": ("fleet\n\n\nv3\nv2\n\nfaster\n", "fleet-needs-v2"),
}


@pytest.mark.parametrize("case", TYPED)
def test_questions_on_a_terminal(folder: Path, case: str) -> None:
    typed, rule = TYPED[case]
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [RUNNERCTL, "init", "p.yaml"], stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, cwd=folder
    ) as process:
        os.close(theirs)
        os.write(ours, typed.encode())
        said = b""
        try:
            while piece := os.read(ours, 4096):
                said += piece
        except OSError:  # the other end is closed
            pass
        out = process.communicate()[0]
    assert (process.returncode, out) == (0, b""), said
    data = parse(Source("p.yaml", (folder / "p.yaml").read_text())).data
    assert [r["id"] for r in data["rules"]] == ([rule] if rule else [])
    assert b"vLLM release that you run" in said


def test_no_question_is_asked_where_nobody_sits(folder: Path) -> None:
    done = subprocess.run(
        [RUNNERCTL, "init"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "name of the policy" not in done.stderr
