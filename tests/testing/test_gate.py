"""The gate between a test and processes that call `execute_model`; real engines are in tests/engine."""

from __future__ import annotations

import multiprocessing
import os
import re
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runnerctl.handover import TESTING
from runnerctl.testing import worker as worker_module
from runnerctl.testing.call import Call, carries, report_on
from runnerctl.testing.gate import Gate, GateError, GateTimeout
from runnerctl.testing.hooks import hooks_of
from runnerctl.testing.worker import attach

WARM_UP = {f"_warmup_{i}_": 2 for i in range(1024)}


@pytest.mark.parametrize(
    ("scheduled", "finished", "stage", "carried"),
    [
        (["r1"], [], "any", True),
        (["r1-8abf276b"], [], "any", True),
        (["r10", "r1a", "xr1", "r"], ["r11-0"], "any", False),
        ([], ["r1"], "any", True),
        ([], ["r1-8abf276b"], "finished", True),
        (["r1"], [], "finished", False),
        ([], ["r1"], "scheduled", False),
        (["r2-1"], [], "any", True),
        (list(WARM_UP), [], "any", False),
        ([], list(WARM_UP), "any", False),
        ([], [], "any", False),
    ],
)
def test_which_calls_carry_the_request(
    scheduled: Sequence[str], finished: Sequence[str], stage: str, carried: bool
) -> None:
    assert carries(("r1", "r2"), scheduled, finished, stage) is carried


@pytest.mark.parametrize(
    ("requests", "options", "message"),
    [
        ("", {}, "at least one request"),
        ([], {}, "at least one request"),
        (["r1", ""], {}, "at least one request"),
        ("r1", {"stage": "foo"}, "stage `foo`: one of any, scheduled, finished"),
        ("r1", {"skip": -1}, "skip -1"),
        ("r1", {"hold": 0}, "hold 0"),
    ],
)
def test_a_gate_that_could_hold_nothing_is_refused(
    requests: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(GateError, match=re.escape(message)):
        Gate(requests, **options)


def output(scheduled: dict[str, int] | None = None, finished: Sequence[str] = ()) -> SimpleNamespace:
    """What the scheduler sends: the two fields that the gate reads."""
    return SimpleNamespace(num_scheduled_tokens=scheduled or {}, finished_req_ids=set(finished))


class Runner:
    def execute_model(self, scheduler_output: SimpleNamespace, *, dummy_run: bool = False) -> str:
        del scheduler_output, dummy_run
        return "ran"


class Worker:
    """Starts as V2 does: its runner calls itself with dummy requests, then three calls of the worker's own, the
    first two with a thousand requests."""

    def __init__(self) -> None:
        self.model_runner = Runner()

    def execute_model(self, scheduler_output: SimpleNamespace) -> str:
        return self.model_runner.execute_model(scheduler_output)

    def compile_or_warm_up_model(self) -> None:
        self.model_runner.execute_model(output({"r1": 16}), dummy_run=True)
        self.execute_model(output(WARM_UP))
        self.execute_model(output(dict.fromkeys(WARM_UP, 1)))
        self.execute_model(output(finished=list(WARM_UP)))


def engine(rank: int, calls: Sequence[SimpleNamespace], through_runner: bool = False) -> None:
    worker = Worker()
    attach(worker, rank, hooks_of(os.environ))
    worker.compile_or_warm_up_model()
    for call in calls:
        (worker.model_runner if through_runner else worker).execute_model(call)


CALLS = [output({"other-1": 4}), output({"r1-a": 2}), output({"r1-a": 1}), output(finished=["r1-a"])]


def start(*arguments: object) -> multiprocessing.process.BaseProcess:
    process = multiprocessing.get_context("spawn").Process(target=engine, args=arguments)
    process.start()
    return process


@pytest.mark.parametrize("through_runner", [False, True], ids=["worker", "runner-alone"])
def test_only_calls_with_the_request_are_held(through_runner: bool) -> None:
    with Gate("r1") as gate:
        process = start(0, CALLS, through_runner)
        for number, (scheduled, finished) in zip((5, 6, 7), ((1, 0), (1, 0), (0, 1)), strict=True):
            (call,) = gate.wait(timeout=20)
            assert (call.number, call.scheduled, call.finished) == (number, scheduled, finished)
            assert (call.pid, call.rank, call.phase) == (process.pid, 0, "serving")
            assert process.is_alive()
            gate.step()
        process.join(10)
    assert process.exitcode == 0
    assert [(c.phase, c.held) for c in gate.calls] == [("warm-up", False)] * 3 + [("serving", False)] + [
        ("serving", True)
    ] * 3


def test_every_rank_is_held_and_opening_lets_all_of_them_go() -> None:
    with Gate("r1", stage="scheduled", skip=1) as gate:
        processes = [start(rank, CALLS) for rank in range(2)]
        calls = gate.wait(ranks=2, timeout=30)
        assert sorted((c.rank, c.number, c.tokens) for c in calls) == [(0, 6, (1,)), (1, 6, (1,))]
        gate.open()
        for process in processes:
            process.join(10)
    assert [p.exitcode for p in processes] == [0, 0]
    assert len(gate.calls) == 14


def test_a_deadline_ends_with_every_call_that_was_seen() -> None:
    with Gate("r9") as gate:
        process = start(0, CALLS)
        with pytest.raises(GateTimeout) as caught:
            gate.wait(timeout=20)
        process.join(10)
    lines = str(caught.value).splitlines()
    assert lines[0] == "every worker has gone, and no call carried `r9`"
    assert lines[1].startswith("worker rank 0 (pid ")
    assert lines[1].endswith(": 7 calls")
    shown = ", ".join(f"`_warmup_{i}_`" for i in range(5))
    assert lines[2:] == [
        f"  #1 warm-up: 1024 scheduled, tokens each 2: {shown}, ...",
        f"  #2 warm-up: 1024 scheduled, tokens each 1: {shown}, ...",
        f"  #3 warm-up: 1024 finished: {', '.join(sorted(f'`{w}`' for w in WARM_UP)[:5])}, ...",
        "  #4 serving: 1 scheduled, tokens each 4: `other-1`",
        "  #5 serving: 1 scheduled, tokens each 2: `r1-a`",
        "  #6 serving: 1 scheduled, tokens each 1: `r1-a`",
        "  #7 serving: 1 finished: `r1-a`",
    ]


def test_nobody_connected_is_said() -> None:
    began = time.monotonic()
    with Gate("r1") as gate, pytest.raises(GateTimeout, match="no worker has connected: runnerctl has to be"):
        gate.wait(timeout=0.2)
    assert time.monotonic() - began < 5


def test_a_worker_is_not_held_for_ever() -> None:
    message = r"held this call for 0\.2 s, and was not opened: serving, held: 1 scheduled"
    with Gate("r1", hold=0.2), pytest.raises(GateTimeout, match=message):
        engine(0, CALLS)


@pytest.mark.parametrize("family", ["AF_UNIX", "AF_INET"])
def test_a_test_that_is_over_holds_nobody(family: str) -> None:
    with Gate("r1", family=family) as gate:  # type: ignore[arg-type]
        thread = threading.Thread(target=engine, args=(0, CALLS))
        thread.start()
        gate.wait(timeout=20)
    thread.join(10)
    assert not thread.is_alive()


def test_the_environment_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_PLUGINS", "ours")
    monkeypatch.delenv("VLLM_RAY_EXTRA_ENV_VAR_PREFIXES_TO_COPY", raising=False)
    before = dict(os.environ)
    with Gate("r1") as outer, Gate("r2"):
        assert [hook["requests"] for hook in hooks_of(os.environ)] == [["r1"], ["r2"]]
        assert os.environ["VLLM_PLUGINS"] == "ours,runnerctl"
        assert os.environ["VLLM_RAY_EXTRA_ENV_VAR_PREFIXES_TO_COPY"] == "RUNNERCTL_"
        assert hooks_of(outer.environment)[0]["requests"] == ["r1"]
    assert dict(os.environ) == before
    assert TESTING not in os.environ
    assert not Path(hooks_of(outer.environment)[0]["address"]).exists()


def test_calls_in_a_row_that_look_the_same_share_a_line() -> None:
    calls = [Call(1, "h", 0, n, "serving", 1, (1,), ("a",), 0, ()) for n in (1, 2, 3)] + [
        Call(1, "h", 0, 4, "serving", 0, (), (), 0, ())
    ]
    assert report_on(calls).splitlines() == [
        "worker rank 0 (pid 1 on h): 4 calls",
        "  #1 to #3 serving: 1 scheduled, tokens each 1: `a`",
        "  #4 serving: no request",
    ]


def test_leaving_a_gate_waits_for_nobody() -> None:
    """A worker that has just connected, and a stranger that says nothing."""
    began = time.monotonic()
    for _ in range(20):
        with Gate("r1") as gate:
            address = hooks_of(os.environ)[0]["address"]
            stranger = socket.socket(socket.AF_UNIX)
            stranger.connect(address)
            worker = Worker()
            attach(worker, 0, hooks_of(os.environ))
            worker.execute_model(output({"other": 1}))
        stranger.close()
        assert [call.ids for call in gate.calls] in (
            [],
            [("other",)],
        )  # told, if the gate was not left sooner
    assert time.monotonic() - began < 20


def test_a_gate_is_used_once() -> None:
    gate = Gate("r1")
    with gate:
        pass
    with pytest.raises(GateError, match="a gate is used once"), gate:
        pass


def test_a_test_that_does_not_answer_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "CONNECT_SECONDS", 0.5)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "s"))
        silent.listen()
        spec = {"kind": "gate", "requests": ["r1"], "stage": "any", "skip": 0, "hold": 5.0, "key": "00"}
        worker = Worker()
        attach(worker, 0, [{**spec, "address": str(tmp_path / "s")}])
        assert worker.execute_model(output({"r1": 1})) == "ran"


def test_after_a_held_call_the_deadline_says_further() -> None:
    with Gate("r1", stage="finished") as gate:
        process = start(0, CALLS)
        gate.wait(timeout=20)
        gate.step()
        with pytest.raises(GateTimeout, match="no further call carried `r1`"):
            gate.wait(timeout=20)
        process.join(10)
