"""`runnerctl.testing` on real engines: a gate inside their workers, failures in their models, runners forced."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from typing import Any

from tests.engine.conftest import START_LIMIT, Engine

HEAD = """
import json, os, sys, threading, time

from runnerctl.testing import Gate, fail_at, forced_runner

SWITCH = "VLLM_USE_V2_MODEL_RUNNER"


def start():
    from vllm import EngineArgs
    from vllm.v1.engine.llm_engine import LLMEngine

    return LLMEngine.from_engine_args(EngineArgs(
        model={model!r}, load_format="dummy", enforce_eager=True, dtype="float32", max_model_len=128,
    ))


def add(engine, name, tokens):
    from vllm import SamplingParams

    engine.add_request(name, "w5 w6", SamplingParams(max_tokens=tokens, temperature=0, ignore_eos=True))


def run(engine):
    while engine.has_unfinished_requests():
        for output in engine.step():
            if output.finished:
                finished[output.request_id] = len(output.outputs[0].token_ids)


def alive(pid):
    return os.path.exists(f"/proc/{{pid}}")


def say(**facts):
    print("SAID", json.dumps(facts), flush=True)


finished = {{}}
"""

GATE = """
if __name__ == "__main__":
    os.environ[SWITCH] = "1"  # refused here, where there is no Triton: the force has to win
    with forced_runner("v1") as forced, Gate("target") as gate:
        engine = start()
        config = engine.vllm_config
        add(engine, "other", 2)
        run(engine)
        add(engine, "target", 4)
        thread = threading.Thread(target=run, args=[engine])
        thread.start()
        first = gate.wait(timeout=60)[0]
        time.sleep(0.5)
        standing = "target" not in finished
        gate.step()
        second = gate.wait(timeout=60)[0]
        gate.open()
        thread.join(60)
        add(engine, "after", 2)
        run(engine)
        say(
            runner="v2" if config.use_v2_model_runner else "v1",
            overridden=[o.value for o in forced.overrides],
            first=[first.phase, list(first.tokens), first.ids[0]],
            second=[second.phase, list(second.tokens), second.ids[0]],
            workers=len({{call.pid for call in gate.calls}}),
            own=os.getpid() in {{call.pid for call in gate.calls}},
            held=sum(call.held for call in gate.calls),
            standing=standing,
            finished=finished,
        )
    say(switch=os.environ[SWITCH], left=[n for n in os.environ if n.startswith("RUNNERCTL_")])
    del engine
"""

FAIL = """
if __name__ == "__main__":
    with forced_runner("v1"), fail_at(3, ranks=[0]), Gate("one", skip=1) as gate:
        engine = start()
        add(engine, "one", 8)
        caught = []

        def until_it_ends():
            try:
                run(engine)
            except Exception as error:
                caught.append(type(error).__name__)

        thread = threading.Thread(target=until_it_ends)
        thread.start()
        held = gate.wait(timeout=60)
        gate.open()
        thread.join(60)
        pids = {{call.pid for call in gate.calls}}
        deadline = time.monotonic() + 60
        while any(map(alive, pids)) and time.monotonic() < deadline:
            time.sleep(0.2)
        say(
            error=caught,
            held=sorted([call.rank, call.number] for call in held),
            calls=sorted([call.rank, call.number] for call in gate.calls),
            left=[pid for pid in pids if alive(pid)],
        )
"""


def run(engine: Engine, text: str) -> tuple[list[dict[str, Any]], str]:
    """What a script said, and everything that it printed. Nothing that it started is left behind."""
    script = engine.script(HEAD.format(model=str(engine.model)) + text.format())
    log = engine.scratch / "script.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [engine.bin / "python", script],
            env=engine.environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        process.wait(2 * START_LIMIT)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    printed = log.read_text()
    said = [line.removeprefix("SAID ") for line in printed.splitlines() if line.startswith("SAID ")]
    assert said, printed[-6000:]
    return [json.loads(line) for line in said], printed


def test_the_gate_holds_the_request_and_nothing_else(engine: Engine) -> None:
    (facts, after), _ = run(engine, GATE)
    assert (facts["runner"], facts["overridden"]) == ("v1", ["1"])
    assert facts["first"][:2] == ["serving", [2]]  # the prompt's two tokens
    assert facts["second"][:2] == ["serving", [1]]
    assert facts["first"][2].startswith("target-")  # the id that vLLM made of it
    assert (facts["workers"], facts["own"]) == (1, False)  # in another process than the test
    assert (facts["held"], facts["standing"]) == (2, True)
    assert facts["finished"] == {"other": 2, "target": 4, "after": 2}
    assert after == {"switch": "1", "left": []}


def test_a_failure_at_the_third_forward_shuts_the_engine_down(engine: Engine) -> None:
    (facts,), output = run(engine, FAIL)
    assert facts["held"] == [[0, 2]]  # the second call with the request
    assert facts["calls"] == [[0, 1], [0, 2], [0, 3]]  # one forward each
    assert facts["error"] == ["EngineDeadError"]
    assert "injected failure at forward 3 on rank 0 (runnerctl.testing)" in output
    assert facts["left"] == []


ATTESTED = """
import os, subprocess, sys
from pathlib import Path

from runnerctl.testing import guarded_environment

SCRIPT = '''
from vllm import LLM, SamplingParams

if __name__ == "__main__":
    llm = LLM(model={model!r}, load_format="dummy", enforce_eager=True, dtype="float32", max_model_len=128)
    print("ANSWER", llm.generate(["w5 w6"], SamplingParams(max_tokens=4))[0].outputs[0].token_ids)
'''

if __name__ == "__main__":
    script = Path({scratch!r}) / "child.py"
    script.write_text(SCRIPT)
    env = {{**os.environ, "VLLM_USE_V2_MODEL_RUNNER": "1"}}
    forced = guarded_environment("v1", env, Path({records!r}), release={release!r}, platform="cpu")
    print(forced.report)
    subprocess.run([sys.executable, script], env=forced, check=True)
"""


def test_a_guarded_child_is_held_and_attested(engine_028: Engine) -> None:
    text = ATTESTED.format(
        model=str(engine_028.model),
        scratch=str(engine_028.scratch),
        records=str(engine_028.records),
        release=engine_028.release,
    )
    script = engine_028.script(text)
    done = subprocess.run(
        [engine_028.bin / "python", script],
        env=engine_028.environment(),
        capture_output=True,
        text=True,
        timeout=START_LIMIT,
        check=False,
    )
    assert "ANSWER" in done.stdout, done.stderr
    assert "VLLM_USE_V2_MODEL_RUNNER=1 from env overridden by force_runner('v1')" in done.stdout
    code, report = engine_028.attest()
    assert (code, sorted(r["role"] for r in report["records"])) == (0, ["engine-core", "front-end", "worker"])
    assert {(r["runner"], r["rule"]) for r in report["records"]} == {("v1", "forced-v1")}
