"""`runnerctl launch --defer` on real engines: decided in the process that builds the config, attested in all."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.engine.conftest import Engine
from tests.engine.test_serve import SWITCH, policy_text, roles
from tools.tiny_model import write_model

LLM_SCRIPT = """
from vllm import LLM, SamplingParams

if __name__ == "__main__":
    llm = LLM(model={model!r}, load_format="dummy", enforce_eager=True, dtype="float32", max_model_len=128)
    print("ANSWER", llm.generate(["w5 w6"], SamplingParams(max_tokens=4))[0].outputs[0].token_ids)
"""

ENGINE_ARGS_SCRIPT = """
import os
from vllm import EngineArgs, SamplingParams
from vllm.v1.engine.llm_engine import LLMEngine

if __name__ == "__main__":
    args = EngineArgs(model={model!r}, load_format="dummy", enforce_eager=True, dtype="float32", max_model_len=128)
    engine = LLMEngine.from_engine_args(args)
    engine.add_request("one", "w5 w6", SamplingParams(max_tokens=4))
    while engine.has_unfinished_requests():
        for output in engine.step():
            if output.finished:
                print("ANSWER", output.outputs[0].token_ids)
    print("SWITCH", os.environ["VLLM_USE_V2_MODEL_RUNNER"])
"""

SHOWS_THE_SET = """
import vllm.config.vllm as module
from vllm import EngineArgs

config = EngineArgs(model={model!r}, load_format="dummy", dtype="float32", max_model_len=128).create_engine_config()
print("SET", sorted(module.DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES))
print("RUNNER", "v2" if config.use_v2_model_runner else "v1")
"""


@pytest.mark.parametrize("script", [LLM_SCRIPT, ENGINE_ARGS_SCRIPT], ids=["LLM", "EngineArgs"])
def test_a_script_is_decided_inside_and_attested_everywhere(engine: Engine, script: str) -> None:
    path = engine.script(script.format(model=str(engine.model)))
    done = engine.launch(
        *("--policy", engine.policy(policy_text("v1")), "--defer"),
        *("--", "python", path),
        VLLM_USE_V2_MODEL_RUNNER="1",
        VLLM_PLUGINS="somebody_else",  # an allow-list that does not name the guard: it loads all the same
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ANSWER" in done.stdout
    decision = json.loads((engine.records / "decision.json").read_text())
    assert [(o["name"], o["value"]) for o in decision["overrides"]] == [(SWITCH, "1")]
    code, report = engine.attest()
    assert (code, roles(report)) == (0, ["engine-core", "front-end", "worker"]), report
    assert {(r["runner"], r["rule"], r["switch"]) for r in report["records"]} == {
        ("v1", "llama-needs-v1", "0")
    }


def test_without_defer_a_script_is_refused_and_the_missing_facts_are_named(engine_028: Engine) -> None:
    done = engine_028.launch(
        *("--policy", engine_028.policy(policy_text("v1"))),
        *("--", "python", engine_028.script("print('ran')")),
    )
    assert done.returncode == 3
    assert "ran" not in done.stdout
    assert "`model_config.architectures`" in done.stderr
    assert "--defer" in done.stderr


def test_a_deferred_decision_that_cannot_be_served_stops_the_process(engine_028: Engine) -> None:
    path = engine_028.script(LLM_SCRIPT.format(model=str(engine_028.model)))
    done = engine_028.launch(
        *("--policy", engine_028.policy(policy_text("v2")), "--defer"),
        *("--", "python", path),
    )
    assert done.returncode != 0
    assert "ANSWER" not in done.stdout
    assert "Model Runner V2 requires Triton." in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("runner", "present"), [("v2", True), ("v1", False)], ids=["preferred-v2-enters", "preferred-v1-leaves"]
)
def test_the_frozenset_is_seen_inside_a_real_process(engine_028: Engine, runner: str, present: bool) -> None:
    architecture = "LlamaForCausalLM" if runner == "v2" else "Qwen2MoeForCausalLM"
    text = policy_text("v1", "prefer").replace("id: llama-needs-v1", "id: served")
    text += f"""
  - id: enters-or-leaves
    match: {{architectures: [{architecture}], vllm: "==0.28.0"}}
    runner: {runner}
    priority: 1
"""
    path = engine_028.script(SHOWS_THE_SET.format(model=str(engine_028.model)))
    done = engine_028.launch(
        "--policy", engine_028.policy(text), "--defer", "--", "python", path, VLLM_LOGGING_LEVEL="INFO"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shown = next(line for line in done.stdout.splitlines() if line.startswith("SET"))
    assert (f"'{architecture}'" in shown) is present
    assert "'DeepseekV2ForCausalLM'" in shown  # the release's own stay


def test_a_policy_for_another_release_stops_the_process(engine_028: Engine, tmp_path: Path) -> None:
    artifact = tmp_path / "for-0.32.0.json"
    policy = engine_028.policy(policy_text("v1"))
    subprocess.run(
        [engine_028.bin / "runnerctl", "compile", "-p", policy, "--vllm", "0.32.0", "-o", artifact],
        check=True,
    )
    path = engine_028.script(SHOWS_THE_SET.format(model=str(engine_028.model)))
    done = subprocess.run(
        [engine_028.bin / "python", path],
        env=engine_028.environment(RUNNERCTL_COMPILED_POLICY=str(artifact)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "the compiled policy is for vLLM 0.32.0" in done.stderr
    assert SWITCH not in done.stdout


TWO_MODELS = """
from vllm import EngineArgs

for model in {models!r}:
    EngineArgs(model=model, load_format="dummy", dtype="float32", max_model_len=128).create_engine_config()
    print("BUILT", model)
"""


def test_a_second_model_that_needs_another_runner_is_stopped(engine_028: Engine, tmp_path: Path) -> None:
    mistral = tmp_path / "tiny-mistral"
    write_model(mistral, "MistralForCausalLM")
    text = (
        policy_text("v1")
        + """
  - id: mistral-needs-v2
    match: {architectures: [MistralForCausalLM]}
    runner: v2
    enforce: require
"""
    )
    path = engine_028.script(TWO_MODELS.format(models=[str(engine_028.model), str(mistral)]))
    # This machine has no Triton; told that it has, the policy can be followed for the second model alone.
    done = engine_028.launch(
        *("--policy", engine_028.policy(text), "--defer", "--set", "has_triton=true"),
        *("--", "python", path),
    )
    assert done.returncode != 0
    assert done.stdout.count("BUILT") == 1
    assert "rule `mistral-needs-v2` decides v2" in done.stderr
    assert "start it in a process of its own" in done.stderr


SHOWS_THE_FACTS = """
import json, os
from policy.compiled.artifact import load_artifact
from runnerctl.guard.config_facts import read_config_facts
from vllm import EngineArgs

config = EngineArgs(model={model!r}, load_format="dummy", dtype="float32", max_model_len=128).create_engine_config()
facts = read_config_facts(config, load_artifact(os.environ["RUNNERCTL_COMPILED_POLICY"]), os.environ, {{}})
print("FACTS", json.dumps({{**facts, "env": {{}}}}))
"""


def test_what_the_release_itself_decides_by_is_read_from_the_config(engine: Engine) -> None:
    path = engine.script(SHOWS_THE_FACTS.format(model=str(engine.model)))
    done = engine.launch("--no-policy", "--defer", "--", "python", path)
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("FACTS"))
    facts = json.loads(line.removeprefix("FACTS "))
    assert (facts["platform"], facts["has_triton"]) == ("cpu", False)
    if engine.release == "0.28.0":
        # No rule names an architecture here: the release's own set does.
        assert facts["model_config"]["architectures"] == ["LlamaForCausalLM"]
        assert facts["model_config"]["is_moe"] is False
        assert facts["model_config"]["runner_type"] == "generate"
