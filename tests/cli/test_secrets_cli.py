"""No verb shows what belongs to a secret, whatever is wrong with the file that it stands in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HEAD = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: p, owner: t}\n"
SECRET = "hunter2"
ADDRESS = f"http://me:{SECRET}@host"
TOKEN = f"hf_{SECRET}abcdefghijklmnopqrstuvwxyz"
TEST = "tests: [{given: {vllm: 0.23.0, env: {A_KEY: hunter2}}, expect: {runner: v1, rule: a, env: {A_KEY: hunter2}}}]\n"

POLICIES: dict[str, str] = {
    "a variable": "rules: []\nenv: {HF_TOKEN: hunter2}\n",
    "an address": f"rules: []\nenv: {{U: '{ADDRESS}'}}\n",
    "a token": f"rules: [{{id: a, match: {{env.X: {TOKEN}}}, runner: v1}}]\nenv: {{X: {TOKEN}}}\n{TEST}",
    "of a rule": f"rules: [{{id: a, match: {{}}, runner: v1, env: {{A_KEY: hunter2-a}}}}]\n{TEST}",
    "in a match": f"rules: [{{id: a, match: {{env.HF_TOKEN: [hunter2, 'hunter*2']}}, runner: v1}}]\n{TEST}",
    "an address in a match": f"rules: [{{id: a, match: {{not: {{env.U: '{ADDRESS}'}}, env.V: '{ADDRESS}'}}, runner: v1}}]\n{TEST}",
    "not a mapping": "rules: []\nenv: HF_TOKEN=hunter2 hunter2\n",
    "not a mapping, without a sign": "rules: []\nenv: HF_TOKEN hunter2\n",
    "a list": "rules: []\nenv: [HF_TOKEN=hunter2]\n",
    "a key by an alias": "rules: []\nx: &k HF_TOKEN\nenv: {*k : hunter2}\n",
    "a mapping below it": "rules: []\nenv: {HF_TOKEN: {hunter2: 1, hunter2: 2}}\n",
    "a number": "rules: []\nenv: {HF_TOKEN: &hunter2 4711}\n",
    "an alias": "rules: []\nenv: {HF_TOKEN: *hunter2}\n",
    "a tag": "rules: []\nenv: {HF_TOKEN: !hunter2 b}\n",
    "a verbatim tag": "rules: []\nenv: {HF_TOKEN: !<hunter2> b}\n",
    "a name that is none": "rules: []\nenv: {HF_TOKEN=hunter2: b}\n",
    "a field that is none": "rules: []\nHF_TOKEN=hunter2: b\n",
    "a fact with a value": "rules: [{id: a, match: {env.HF_TOKEN=hunter2: b}, runner: v1}]\n",
    "not YAML": 'rules: []\nenv: {HF_TOKEN: "a" hunter2}\n',
}  # fmt: skip

ASKED = ("-p", "p.yaml", "--vllm", "0.23.0", "--set", "env.HF_TOKEN=hunter2", "--set", f"env.U={ADDRESS}")
VERBS: dict[str, tuple[str, ...]] = {
    "resolve": ("resolve", *ASKED, "--explain"),
    "resolve, without a variable": ("resolve", "-p", "p.yaml", "--vllm", "0.23.0", "--set", "platform=cuda", "--explain"),
    "test": ("test", "p.yaml"),
    "test, as JSON": ("test", "-v", "p.yaml", "--format", "json", "--coverage"),
    "test, as JUnit": ("test", "p.yaml", "--junit", "/dev/stdout"),
    "mutation": ("test", "p.yaml", "--mutation"),
    "mutation, as JSON": ("test", "p.yaml", "--mutation", "--format", "json"),
    "lint": ("lint", "p.yaml"),
    "lint --diff": ("lint", "--diff", "p.yaml"),
    "fmt --diff": ("fmt", "--diff", "p.yaml"),
    "fmt --check": ("fmt", "--check", "p.yaml"),
    "diff": ("diff", "p.yaml", "empty.yaml"),
    "diff, as JSON": ("diff", "empty.yaml", "p.yaml", "--format", "json"),
    "matrix": ("matrix", "-r", "0.23.0", "-a", "LlamaForC*", "-p", "p.yaml"),
    "upgrade": ("upgrade", "--from", "0.23.0", "--to", "0.24.0", "-p", "p.yaml", "--set", "env.HF_TOKEN=hunter2"),
    "upgrade, as JSON": ("upgrade", "--from", "0.23.0", "--to", "0.24.0", "-p", "p.yaml", "--format", "json", "--set", "platform=cuda"),
    "launch": ("launch", "-p", "p.yaml", "--dry-run", "--set", "vllm=0.23.0", "--", "vllm", "serve", "x"),
}  # fmt: skip


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a policy that decides nothing, and a deployment."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.yaml").write_text(f"{HEAD}rules: []\n")
    facts = {"env": {"HF_TOKEN": SECRET}}
    (tmp_path / "lines.json").write_text(json.dumps({"id": 1, "vllm": "0.23.0", "facts": facts}) + "\n")
    return tmp_path


# What is to be set is given as it is to be set.
MACHINES: dict[str, tuple[str, ...]] = {
    "one": ("resolve", "-p", "p.yaml", "--vllm", "0.23.0", "--set", "platform=cuda", "--format", "json"),
    "many": ("resolve", "-p", "p.yaml", "--batch", "lines.json"),
}


@pytest.mark.parametrize("verb", MACHINES)
def test_who_sets_what_a_decision_says_sets_the_value(cli: Callable[..., Any], here: Path, verb: str) -> None:
    (here / "p.yaml").write_text(HEAD + POLICIES["of a rule"])
    decision = json.loads(cli(*MACHINES[verb]).out)
    assert decision["env"]["set"]["A_KEY"] == "hunter2-a"


@pytest.mark.parametrize("wanted", ["271828", "[271828, a]", "{ne: 271828}"])
@pytest.mark.parametrize("verb", ["lint", "resolve", "test, as JSON", "diff"])
def test_a_number_that_is_a_secret_is_not_said(
    cli: Callable[..., Any], here: Path, wanted: str, verb: str
) -> None:
    (here / "p.yaml").write_text(f"{HEAD}rules: [{{id: a, match: {{env.HF_TOKEN: {wanted}}}, runner: v1}}]\n")
    for more in ([], ["--format", "json"]) if verb == "lint" else ([],):
        answer = cli(*VERBS[verb], *more)
        assert "271828" not in answer.out + answer.err
        assert "takes string, not `****`" in answer.out + answer.err


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("case", POLICIES)
def test_no_verb_shows_a_secret(cli: Callable[..., Any], here: Path, case: str, verb: str) -> None:
    (here / "p.yaml").write_text(HEAD + POLICIES[case])
    answer = cli(*VERBS[verb])
    assert SECRET not in answer.out + answer.err


SETTINGS = [
    "env.HF_TOKEN=[hunter2", "env.HF_TOKEN=[hunter2]", "env.HF_TOKEN={hunter2: 1}", "env.HF_TOKEN:hunter2", "HF_TOKEN=hunter2",
    "env=HF_TOKEN=hunter2", 'env="hunter2', "env={HF_TOKEN: *hunter2}", "env={HF_TOKEN: [hunter2]}", "env HF_TOKEN hunter2",
    f'env.U="{ADDRESS}', f"env.U=[{TOKEN}", 'model_config.hf_token=[hunter2',
]  # fmt: skip


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_that_cannot_be_used_is_not_said(cli: Callable[..., Any], setting: str) -> None:
    answer = cli("resolve", "--vllm", "0.23.0", "--set", setting)
    assert answer.code == 2
    assert SECRET not in answer.out + answer.err


FACTS = [
    "env: {HF_TOKEN: [hunter2]}", "env: HF_TOKEN hunter2", "env.HF_TOKEN=hunter2: 1\nenv: b", "HF_TOKEN=hunter2: 1",
    "HF_TOKEN hunter2: 1", "model_config: {hf_token: [hunter2]}", "unknown: [HF_TOKEN=hunter2]", "env: {HF_TOKEN: !hunter2 a}",
]  # fmt: skip


@pytest.mark.parametrize("facts", FACTS)
def test_facts_that_cannot_be_used_are_not_said(cli: Callable[..., Any], here: Path, facts: str) -> None:
    (here / "facts.yaml").write_text(f"vllm: 0.23.0\n{facts}\n")
    answer = cli("resolve", "--facts", "facts.yaml")
    assert answer.code == 2
    assert SECRET not in answer.out + answer.err
