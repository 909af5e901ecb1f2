"""`runnerctl launch --dry-run` in an environment with vLLM's metadata: what would be set, and nothing done."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from dotenv import dotenv_values

from policy.document.schema import load_schema
from policy.facts.fields import SWITCH

Cli = Callable[..., Any]

POLICY = """\
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {name: fleet}
env: {A: policy, B: policy, C: policy, D: policy, E: policy, POLICY_TOKEN: policy-secret}
rules:
- id: need-v1
  match: {labels.team: {exists: false}}
  runner: v1
  enforce: require
  env: {E: rule, RULE_API_KEY: rule-secret}
- {id: as-is, match: {labels.team: as-is}, runner: engine, enforce: require}
"""
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "vocab_size": 128,
}
SERVE = ["vllm", "serve", "model"]
TRITON = ["--set", "has_triton=true"]


def _install(root: Path) -> Path:
    """A virtual environment of this Python in which pip would find vLLM 0.23.0; its `bin`."""
    site = root / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    info = site / "vllm-0.23.0.dist-info"
    for folder in (root / "bin", info, site / "vllm"):
        folder.mkdir(parents=True)
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    base = base if base.exists() else Path(sysconfig.get_config_var("BINDIR")) / "python3"
    (root / "bin" / "python").symlink_to(base)
    (root / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.23.0\n")
    (info / "top_level.txt").write_text("vllm\n")
    (info / "RECORD").write_text("vllm/__init__.py,,\n")
    (site / "vllm" / "__init__.py").write_text("raise RuntimeError('nobody may import this')\n")
    script = root / "bin" / "vllm"
    script.write_text(f"#!{root}/bin/python\nraise SystemExit('nobody may start this')\n")
    script.chmod(0o755)
    return root / "bin"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(_install(tmp_path / "venv")), prepend=":")
    for name in ("VLLM_PLUGINS", SWITCH, "A", "B", "C", "D", "E"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


def dry(cli: Cli, *words: str, format_: str = "json", command: list[str] = SERVE) -> Any:
    return cli("launch", "--dry-run", "--format", format_, *TRITON, *words, "--", *command)


def files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if "__pycache__" not in p.parts)


def test_order_of_the_environment(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "BCDE":
        monkeypatch.setenv(name, "process")
    Path("x.env").write_text(f"C=file\nD=file\n{SWITCH}=1\nexport E='file'\n")
    answer = dry(
        cli, "--policy", "policy.yaml", "--env-file", "x.env", "--env", "D=option", "-e", f"{SWITCH}=1"
    )
    assert answer.code == 0
    plan = answer.json
    chosen = {n: plan["set"].get(n) for n in ("A", "C", "D", "E", SWITCH)}
    assert chosen == {"A": "policy", "C": "file", "D": "option", "E": "rule", SWITCH: "0"}
    assert "B" not in plan["set"], "the process has it already"
    jsonschema.validate(plan["decision"], load_schema("decision"))
    lost = {(o["name"], o["value"], o["source"]) for o in plan["decision"]["overrides"]}
    assert {
        ("B", "policy", "policy env"),
        ("C", "process", "process environment"),
        ("D", "file", "--env-file x.env"),
        ("E", "file", "--env-file x.env"),
        (SWITCH, "1", "--env-file x.env"),
        (SWITCH, "1", "--env"),
    } <= lost
    assert plan["argv"] == SERVE


def test_several_env_files(cli: Cli) -> None:
    Path("x.env").write_text("C=one\nD=one\n")
    Path("y.env").write_text("D=two\n")
    plan = dry(cli, "--no-policy", "--env-file", "x.env", "--env-file", "y.env").json
    assert (plan["set"]["C"], plan["set"]["D"]) == ("one", "two")


def test_env_prefix_is_a_layer(cli: Cli) -> None:
    command = ["env", "A=1", f"{SWITCH}=1", "vllm", "serve", "model"]
    plan = dry(cli, "--policy", "policy.yaml", command=command).json
    assert plan["argv"] == SERVE
    assert (plan["set"]["A"], plan["set"][SWITCH]) == ("1", "0")
    sources = {(o["name"], o["source"]) for o in plan["decision"]["overrides"]}
    assert (SWITCH, "command prefix") in sources


def test_no_spelling_survives(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH.lower(), "1")
    plan = dry(cli, "--policy", "policy.yaml").json
    assert plan["unset"] == [SWITCH.lower()]
    assert plan["set"][SWITCH] == "0"


def test_engine_takes_the_switch_away(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "")
    answer = dry(cli, "--policy", "policy.yaml", "--set", "labels.team=as-is")
    assert answer.json["unset"] == [SWITCH]
    assert SWITCH not in answer.json["set"]
    assert answer.json["decision"]["runner"] == "v2"
    shell = dry(cli, "--policy", "policy.yaml", "--set", "labels.team=as-is", format_="shell").out
    assert f"unset {SWITCH}\n" in shell


def test_left_over_handover_variables_are_not_passed_on(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNERCTL_FACTS", '{"labels": {"team": "x"}}')
    monkeypatch.setenv("RUNNERCTL_VERDICT", "old")
    plan = dry(cli, "--policy", "policy.yaml", "--attest", "records").json
    assert "RUNNERCTL_FACTS" in plan["unset"]
    assert json.loads(plan["set"]["RUNNERCTL_VERDICT"])["runner"] == "v1"
    assert plan["set"]["RUNNERCTL_COMPILED_POLICY"] == str(Path("records/policy.json").absolute())


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        (None, None),
        ("lora", "lora,runnerctl"),
        ("", "runnerctl"),
        ("runnerctl", None),
        ("a,runnerctl,b", None),
    ],
)
def test_guard_is_on_the_allow_list(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, allowed: str | None, expected: str | None
) -> None:
    if allowed is not None:
        monkeypatch.setenv("VLLM_PLUGINS", allowed)
    assert dry(cli, "--no-policy").json["set"].get("VLLM_PLUGINS") == expected


SECRETS = ["policy-secret", "rule-secret", "cli-secret", "process-secret", "file-secret"]


def with_secrets(cli: Cli, monkeypatch: pytest.MonkeyPatch, format_: str) -> Any:
    monkeypatch.setenv("HF_TOKEN", "process-secret")
    monkeypatch.setenv("POLICY_TOKEN", "process-secret")
    Path("x.env").write_text(
        "HF_TOKEN=file-secret\nAWS_SECRET_ACCESS_KEY=file-secret\nDB_PASSWORD=file-secret\n"
    )
    return dry(
        cli, "--policy", "policy.yaml", "--env-file", "x.env", "--env", "HF_TOKEN=cli-secret", format_=format_
    )


@pytest.mark.parametrize("format_", ["json", "shell", "dotenv"])
def test_secrets_are_hidden(cli: Cli, monkeypatch: pytest.MonkeyPatch, format_: str) -> None:
    answer = with_secrets(cli, monkeypatch, format_)
    assert answer.code == 0
    assert "HF_TOKEN" in answer.out
    assert [secret for secret in SECRETS if secret in answer.out + answer.err] == []


def test_secrets_are_hidden_in_text(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = with_secrets(cli, monkeypatch, "text")
    assert [secret for secret in SECRETS if secret in answer.out + answer.err] == []


def test_secrets_are_hidden_in_a_refusal(cli: Cli) -> None:
    answer = dry(
        cli, "--policy", "policy.yaml", "--strict-env", "-e", f"{SWITCH}=1", "-e", "POLICY_TOKEN=cli-secret"
    )
    assert answer.code == 1
    assert [secret for secret in SECRETS if secret in answer.out + answer.err] == []


def test_api_key_argument_is_hidden(cli: Cli) -> None:
    answer = dry(cli, "--no-policy", command=[*SERVE, "--api-key", "argument-secret"])
    assert "argument-secret" not in answer.out


def test_shell_and_dotenv_can_be_read_back(cli: Cli) -> None:
    odd = "a b'c\"d\\e #f $HOME `x`"
    words = ["--policy", "policy.yaml", "-e", f"ODD={odd}", "-e", "EMPTY=", "-e", "LINES=a\nb"]
    shell = dry(cli, *words, format_="shell").out
    assert shell.splitlines()[-1] == "exec " + shlex.join(SERVE)
    script = shell.replace("exec " + shlex.join(SERVE), 'printf "%s|" "$ODD" "$EMPTY" "$LINES"')
    assert (
        subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
        == f"{odd}||a\nb|"
    )
    read = dotenv_values(stream=StringIO(dry(cli, *words, format_="dotenv").out), interpolate=False)
    assert (read["ODD"], read["EMPTY"], read["LINES"], read[SWITCH]) == (odd, "", "a\nb", "0")


def test_text(cli: Cli) -> None:
    answer = dry(cli, "--policy", "policy.yaml", format_="text")
    assert answer.code == 0
    assert answer.out.startswith("would run   vllm serve model\n")
    assert f"set         {SWITCH}=0\n" in answer.out
    assert "decided by  rule need-v1 (require) of policy fleet, policy.yaml:6:3" in answer.out


@pytest.mark.parametrize("format_", ["text", "json", "shell", "dotenv"])
def test_nothing_is_written_and_nothing_started(cli: Cli, here: Path, format_: str) -> None:
    before = files(here)
    answer = dry(cli, "--policy", "policy.yaml", "--attest", "records", format_=format_)
    assert (answer.code, answer.err) == (0, "")
    assert files(here) == before


def test_names_in_an_env_file(cli: Cli) -> None:
    Path("x.env").write_text("'x; echo injected'=1\n")
    answer = dry(cli, "--no-policy", "--env-file", "x.env", format_="shell")
    assert answer.code == 2


def test_env_with_options_does_not_undo_the_force(cli: Cli) -> None:
    command = ["env", "-u", "X", f"{SWITCH}=1", "vllm", "serve", "model"]
    answer = dry(cli, "--policy", "policy.yaml", command=command)
    assert answer.code == 2 or f"{SWITCH}=1" not in answer.json["argv"]


REFUSED: dict[str, tuple[list[str], list[str], int, str]] = {
    "no command": ([], [], 2, "Missing argument"),
    "no such program": (["--no-policy"], ["nothing", "serve"], 2, "`nothing` is not a command"),
    "wrong --env": (["--no-policy", "-e", "1A=x"], SERVE, 2, "--env NAME=VALUE"),
    "--env without a value": (["--no-policy", "-e", "A"], SERVE, 2, "--env NAME=VALUE"),
    "missing env file": (["--no-policy", "--env-file", "missing"], SERVE, 2, "missing: cannot be read"),
    "bad env file": (["--no-policy", "--env-file", "bad.env"], SERVE, 2, "bad.env:2:1: the line is not NAME=VALUE"),
    "invalid switch": (["--no-policy", "-e", f"{SWITCH}="], SERVE, 1, "[invalid-switch]"),
    "strict": (["--policy", "policy.yaml", "--strict-env", "-e", f"{SWITCH}=1"], SERVE, 1, "[overridden-switch]"),
    "cannot serve": (["--no-policy", "-e", f"{SWITCH}=1", "--set", "compilation_config.mode=STOCK_TORCH_COMPILE"], SERVE, 1, "stock torch.compile"),
    "undetermined": (["--no-policy", "--set", "unknown=[model_config.is_moe]"], ["python", "x.py"], 3, "or give --defer"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(cli: Cli, here: Path, case: str) -> None:
    words, command, code, part = REFUSED[case]
    (here / "bad.env").write_text("A=1\nB\n")
    before = files(here)
    answer = dry(cli, *words, command=command)
    assert (answer.code, answer.out) == (code, "")
    assert part in answer.err
    assert "Traceback" not in answer.err
    assert files(here) == before


def test_without_the_guard_nothing_starts(cli: Cli, here: Path) -> None:
    before = files(here)
    answer = cli("launch", *TRITON, "--no-policy", "--", *SERVE)
    assert (answer.code, answer.out) == (2, "")
    assert "runnerctl is not installed where `vllm` runs" in answer.err
    assert files(here) == before


def test_deferred(cli: Cli) -> None:
    plan = dry(cli, "--policy", "policy.yaml", "--defer", "--set", "labels.team=x").json
    assert (plan["deferred"], plan["decision"]) == (True, None)
    assert json.loads(plan["set"]["RUNNERCTL_FACTS"])["labels"] == {"team": "x"}
    assert "RUNNERCTL_VERDICT" not in plan["set"]
    assert SWITCH not in plan["set"]


def test_what_an_outer_launch_left_is_dropped_and_a_tests_hooks_are_not(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNNERCTL_VERDICT", "another engine's")
    monkeypatch.setenv("RUNNERCTL_STRICT_ENV", "1")
    monkeypatch.setenv("RUNNERCTL_TESTING", "[]")
    plan = dry(cli, "--policy", "policy.yaml").json
    assert "RUNNERCTL_STRICT_ENV" in plan["unset"]
    assert "RUNNERCTL_TESTING" not in plan["unset"]
    assert plan["set"]["RUNNERCTL_VERDICT"] != "another engine's"
