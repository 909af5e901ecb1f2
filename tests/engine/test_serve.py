"""`runnerctl launch -- vllm serve` on real engines."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.engine.conftest import Engine

SWITCH = "VLLM_USE_V2_MODEL_RUNNER"


def policy_text(runner: str, enforce: str = "require") -> str:
    return f"""
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {{name: pins, owner: tests}}
rules:
  - id: llama-needs-{runner}
    match: {{architectures: [LlamaForCausalLM]}}
    runner: {runner}
    enforce: {enforce}
    reason: The test says so.
"""


def roles(report: dict[str, Any]) -> list[str]:
    return sorted(record["role"] for record in report["records"])


def test_required_v1_holds_against_the_switch_in_every_layer(
    engine: Engine, serve: Any, tmp_path: Path
) -> None:
    env_file = tmp_path / "engine.env"
    env_file.write_text(f"{SWITCH}=1\n")
    server = serve(
        *("--policy", engine.policy(policy_text("v1"))),
        *("--env-file", env_file, "--env", f"{SWITCH}=1"),
        VLLM_USE_V2_MODEL_RUNNER="1",
    )
    server.wait_until_it_answers()

    assert server.complete("w5 w6 w7").split()
    code, report = engine.attest()
    assert (code, roles(report)) == (0, ["engine-core", "front-end", "worker"])
    assert {r["runner"] for r in report["records"]} == {"v1"}
    assert {r["rule"] for r in report["records"]} == {"llama-needs-v1"}
    worker = next(r for r in report["records"] if r["role"] == "worker")
    assert worker["module"] == "vllm.v1.worker.cpu_model_runner"
    # exec: the process that was launched is the engine's front end, and its PID is ours to signal.
    front = next(r for r in report["records"] if r["role"] == "front-end")
    assert front["pid"] == server.process.pid

    decision = json.loads((engine.records / "decision.json").read_text())
    replaced = [(o["value"], o["source"]) for o in decision["overrides"]]
    assert replaced == [("1", "process environment"), ("1", f"--env-file {env_file}"), ("1", "--env")]
    assert server.log.read_text().count(f"runnerctl: {SWITCH}=1 from") == 3

    assert server.terminate() in (0, -15, 143)
    deadline = time.monotonic() + 30
    pids = {record["pid"] for record in report["records"]}
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        pytest.param(f'os.environ["{SWITCH}"] = "1"', "held", id="sets-the-variable"),
        pytest.param(
            "from vllm.config import VllmConfig\n"
            "VllmConfig.use_v2_model_runner = property(lambda self: True)\n"
            "VllmConfig._validate_v2_model_runner = lambda self: None",
            "stopped",
            id="replaces-the-property",
        ),
    ],
)
def test_another_plugin_cannot_bring_v2_in_unseen(
    engine: Engine, serve: Any, flipping_plugin: Any, body: str, outcome: str
) -> None:
    site = flipping_plugin(body)
    server = serve("--policy", engine.policy(policy_text("v1")), PYTHONPATH=str(site))
    if outcome == "held":
        server.wait_until_it_answers()
        code, report = engine.attest()
        assert (code, {r["runner"] for r in report["records"]}) == (0, {"v1"})
        return
    assert server.process.wait(240) != 0
    log = server.log.read_text()
    assert "rule `llama-needs-v1`" in log
    assert "decided v1: stopping" in log
    assert engine.attest()[0] == 4


def test_required_v2_without_triton_is_refused_before_anything_starts(engine: Engine) -> None:
    began = time.monotonic()
    done = engine.launch(
        *("--policy", engine.policy(policy_text("v2"))),
        *("--", "vllm", "serve", engine.model),
    )
    took = time.monotonic() - began
    assert done.returncode == 1
    assert "Model Runner V2 requires Triton." in done.stderr
    assert "llama-needs-v2" in done.stderr
    assert not engine.records.exists()
    assert took < 2


def test_preferred_v2_without_triton_falls_back_with_a_warning(engine: Engine) -> None:
    done = engine.launch(
        *("--policy", engine.policy(policy_text("v2", "prefer")), "--dry-run", "--format", "json"),
        *("--", "vllm", "serve", engine.model),
    )
    decision = json.loads(done.stdout)["decision"]
    assert (decision["runner"], decision["env"]["set"]) == ("v1", {SWITCH: "0"})
    assert any("Model Runner V2 requires Triton." in w for w in decision["warnings"])


def test_own_choice_that_rests_on_missing_triton_says_so(engine: Engine) -> None:
    done = engine.launch("--dry-run", "--format", "json", "--", "vllm", "serve", engine.model)
    decision = json.loads(done.stdout)["decision"]
    assert (decision["runner"], decision["decided_by"]["layer"]) == ("v1", "engine")
    assert any("Triton" in cause for cause in decision["decided_by"]["because"])
    assert any("depends on" in w for w in decision["warnings"])
