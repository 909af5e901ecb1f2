"""Inside a worker: puts a test's hooks around its `execute_model` and its model's `forward`.

Wraps the worker object, not its class: a class is shared, and vLLM adds bases to it. Whatever calls
`execute_model` on it (the executor, V2's warm-up) goes through. Ray's compiled graph calls the
runner instead of the worker, so that the runner is wrapped, too, for calls that do not come through the worker.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection
from queue import Empty, Queue
from types import ModuleType
from typing import Any

import wrapt

from runnerctl.testing.call import SERVING, WARM_UP, Call, carries
from runnerctl.testing.forward import KIND as FAIL
from runnerctl.testing.forward import InjectedFailure, wrap_forward
from runnerctl.testing.gate import GO_ON, KIND, GateTimeout
from runnerctl.testing.hooks import HookError, hooks_of

__all__ = ["attach", "install"]

# A worker that no test answers by then goes on without the gate.
CONNECT_SECONDS = 30.0

logger = logging.getLogger("vllm.runnerctl")

_installed = False


def install() -> None:
    """Wait, in this process, for vLLM's workers. What is asked of each is read when it has its device."""
    global _installed  # noqa: PLW0603  (one process has one vLLM)
    if not _installed:
        _installed = True
        wrapt.register_post_import_hook(_wrap_wrapper, "vllm.v1.worker.worker_base")


def _wrap_wrapper(module: ModuleType) -> None:
    def after(
        wrapped: Callable[..., Any], instance: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        result = wrapped(*args, **kwargs)
        attach(instance.worker, instance.global_rank, hooks_of(os.environ))
        return result

    wrapt.wrap_function_wrapper(module, "WorkerWrapperBase.init_device", after)


def attach(worker: Any, rank: int, hooks: Sequence[Mapping[str, Any]]) -> None:
    """Put `hooks` around one worker that has its device and not yet its model."""
    if not hooks:
        return
    gates = [_GateInWorker(hook, rank) for hook in hooks if hook["kind"] == KIND]
    failures = [hook for hook in hooks if hook["kind"] == FAIL and _is_for(hook, rank)]
    names = ", ".join(hook["kind"] for hook in hooks)
    logger.warning("runnerctl: a test's hooks are in this worker (rank %d): %s", rank, names)
    watch = _Watch(gates)
    worker.execute_model = watch.around(worker.execute_model)
    worker.model_runner.execute_model = watch.around(worker.model_runner.execute_model)
    worker.compile_or_warm_up_model = watch.warming_up(worker.compile_or_warm_up_model)
    if failures:
        worker.load_model = _then_fail(worker, rank, failures, watch)


def _is_for(hook: Mapping[str, Any], rank: int) -> bool:
    return hook["ranks"] is None or rank in hook["ranks"]


class _Watch:
    """What the worker is doing: starting or serving, and whether it is inside a call that the gates have passed."""

    def __init__(self, gates: Sequence[_GateInWorker]) -> None:
        self.gates = gates
        self.phase = SERVING
        self.inside = False
        self.serving = False

    def around(self, wrapped: Callable[..., Any]) -> Callable[..., Any]:
        def execute_model(scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
            # V2's dummy runs (profiling, idle data-parallel ranks) are calls of its runner's own: of no request.
            if self.inside or kwargs.get("dummy_run"):
                return wrapped(scheduler_output, *args, **kwargs)
            self.inside = True
            try:
                for gate in self.gates:
                    gate.pass_call(scheduler_output, self.phase)
                self.serving = self.phase == SERVING and bool(scheduler_output.num_scheduled_tokens)
                return wrapped(scheduler_output, *args, **kwargs)
            finally:
                self.inside = self.serving = False

        return execute_model

    def warming_up(self, wrapped: Callable[..., Any]) -> Callable[..., Any]:
        def compile_or_warm_up_model(*args: Any, **kwargs: Any) -> Any:
            self.phase = WARM_UP
            try:
                return wrapped(*args, **kwargs)
            finally:
                self.phase = SERVING

        return compile_or_warm_up_model


class _GateInWorker:
    """The worker's end of one gate. It never waits for anything but a call that it holds."""

    def __init__(self, spec: Mapping[str, Any], rank: int) -> None:
        self.spec = spec
        self.rank = rank
        self.number = 0
        self.matched = 0
        self.open = False
        self.connection = self._connect()

    def _connect(self) -> Connection | None:
        given = self.spec["address"]
        address = given if isinstance(given, str) else (given[0], given[1])
        made: Queue[Connection | Exception] = Queue()

        def connect() -> None:
            try:
                made.put(Client(address, authkey=bytes.fromhex(self.spec["key"])))
            except (OSError, EOFError, AuthenticationError) as error:
                made.put(error)

        # The handshake has no deadline of its own, and a test that is over may leave its socket open.
        threading.Thread(target=connect, name="gate", daemon=True).start()
        try:
            found = made.get(timeout=CONNECT_SECONDS)
        except Empty:
            found = TimeoutError(f"{CONNECT_SECONDS} s have passed")
        if isinstance(found, Exception):
            logger.warning("runnerctl: the test behind a gate does not answer: %s", found)
            return None
        return found

    def pass_call(self, scheduler_output: Any, phase: str) -> None:
        """Tell the test of a call, and wait if it carries the request. Raises `GateTimeout`."""
        self.number += 1
        scheduled, finished = scheduler_output.num_scheduled_tokens, scheduler_output.finished_req_ids
        found = carries(self.spec["requests"], scheduled, finished, self.spec["stage"])
        self.matched += found and phase == SERVING
        held = found and phase == SERVING and not self.open and self.matched > self.spec["skip"]
        call = Call.of(
            scheduler_output, rank=self.rank, number=self.number, phase=phase, carries=found, held=held
        )
        if self.connection is None:
            return
        try:
            self.connection.send_bytes(call.to_json())
            if held:
                self._wait(self.connection, call)
        except (EOFError, OSError) as error:
            if isinstance(error, GateTimeout):
                raise
            self.connection = None  # the test is over: nobody is left to wait for

    def _wait(self, connection: Connection, call: Call) -> None:
        if not connection.poll(self.spec["hold"]):
            raise GateTimeout(
                f"a gate held this call for {self.spec['hold']:g} s, and was not opened: {call}"
            )
        self.open = connection.recv_bytes() == GO_ON


def _then_fail(
    worker: Any, rank: int, failures: Sequence[Mapping[str, Any]], watch: _Watch
) -> Callable[..., Any]:
    load = worker.load_model

    def load_model(*args: Any, **kwargs: Any) -> Any:
        _refuse_graphs(worker.vllm_config)
        result = load(*args, **kwargs)
        for failure in failures:
            wrap_forward(worker.model_runner.get_model(), _counter(failure, rank, watch))
        return result

    return load_model


def _refuse_graphs(config: Any) -> None:
    if (
        not config.model_config.enforce_eager
        and config.compilation_config.cudagraph_mode.has_full_cudagraphs()
    ):
        raise HookError(
            "fail_at counts forwards, and a replayed graph calls none: start the engine with enforce_eager=True"
        )


def _counter(failure: Mapping[str, Any], rank: int, watch: _Watch) -> Callable[[], None]:
    seen = 0

    def count() -> None:
        nonlocal seen
        if failure["counting"] == "serving" and not watch.serving:
            return
        seen += 1
        if seen == failure["n"]:
            raise InjectedFailure(
                failure["message"] or f"injected failure at forward {seen} on rank {rank} (runnerctl.testing)"
            )

    return count
