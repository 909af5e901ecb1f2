"""A gate inside `Worker.execute_model`: holds the engine at the calls that carry one request, and only there.

    with Gate("req-1") as gate:
        engine = ...                 # every process that starts inside has the gate in its workers
        engine.add_request("req-1", ...)
        calls = gate.wait(timeout=60)
        ...                          # the engine stands still, inside execute_model
        gate.open()

V2 calls `execute_model` itself while it warms up: such calls are seen and never held. The test listens on a socket
whose address travels in the environment; a worker that is held waits on it, with a deadline.
"""

from __future__ import annotations

import os
import secrets
import tempfile
import threading
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener, answer_challenge, deliver_challenge
from typing import Any, Literal, Self

from policy.input_error import InputError
from runnerctl.testing.call import Call, report_on
from runnerctl.testing.hooks import hooks_in_force

__all__ = ["Gate", "GateError", "GateTimeout"]

KIND = "gate"
GO_ON = b"open"
STEP = b"step"
STAGES = ("any", "scheduled", "finished")


class GateError(InputError):
    """A gate that could never hold what it is meant to hold."""


class GateTimeout(TimeoutError):  # noqa: N818  (as Python's own)
    """The deadline passed. The message ends with every call that was seen."""


class Gate:
    """Holds calls that carry one of `requests`: the exact id, or `id-` and vLLM's suffix.

    `stage` narrows that to calls that schedule it (`scheduled`) or that tell of its end (`finished`). `skip` lets the
    first so many calls of each worker pass: `skip=1` holds a request that is prefilled in one call at its
    first decode. A worker that is held longer than `hold` seconds raises, so that no engine outlives its test.
    `family` is the socket's; `AF_INET` is for workers on other hosts. Raises `GateError`.
    """

    def __init__(
        self,
        requests: str | Iterable[str],
        *,
        stage: Literal["any", "scheduled", "finished"] = "any",
        skip: int = 0,
        hold: float = 120.0,
        family: Literal["AF_UNIX", "AF_INET"] = "AF_UNIX",
    ) -> None:
        self.requests = (requests,) if isinstance(requests, str) else tuple(requests)
        if not self.requests or not all(self.requests):
            raise GateError("the gate needs the id of at least one request, and an empty one is none")
        if stage not in STAGES:
            raise GateError(f"stage `{stage}`: one of {', '.join(STAGES)}")
        if skip < 0:
            raise GateError(f"skip {skip}: so many calls cannot pass")
        if hold <= 0:
            raise GateError(f"hold {hold:g}: a worker is held for some seconds")
        self._spec: dict[str, Any] = {
            "requests": list(self.requests),
            "stage": stage,
            "skip": skip,
            "hold": hold,
        }
        self._family = family
        self._changed = threading.Condition()
        self._calls: list[Call] = []
        self._held: dict[Connection, Call] = {}
        self._connected = 0
        self._gone = 0
        self._open = False
        self._closing = False
        self._entered = False

    def __enter__(self) -> Self:
        if self._entered:
            raise GateError("a gate is used once: make another")
        self._entered = True
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="gate-"))
            address = os.path.join(folder, "s") if self._family == "AF_UNIX" else ("", 0)  # noqa: PTH118
            self._key = secrets.token_bytes(16)
            # Without a key here: a client that says nothing would keep accept() from all others.
            self._listener = stack.enter_context(Listener(address, self._family, backlog=16))
            stack.callback(self._stop_listening)
            threading.Thread(target=self._listen, name="gate", daemon=True).start()
            self._spec |= {"address": self._address(), "key": self._key.hex()}
            stack.enter_context(hooks_in_force(KIND, self._spec))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self.open()
        self._stack.close()

    def _address(self) -> str | list[str | int]:
        found = self._listener.address
        if isinstance(found, str):
            return found
        import socket  # noqa: PLC0415  (for several hosts only)

        return [socket.gethostname(), int(found[1])]

    @property
    def environment(self) -> dict[str, str]:
        """The variables for a process that does not inherit this one's environment. Inside `with` only."""
        from runnerctl.testing.hooks import with_hook  # noqa: PLC0415

        return with_hook({}, KIND, self._spec)

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every call of every worker that was seen so far."""
        with self._changed:
            return tuple(self._calls)

    @property
    def held(self) -> tuple[Call, ...]:
        """The calls that stand still now, at most one a worker."""
        with self._changed:
            return tuple(self._held.values())

    def wait(self, *, ranks: int = 1, timeout: float = 60.0) -> tuple[Call, ...]:
        """Wait until `ranks` workers are held, and say at which calls. Raises `GateTimeout`."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._held) >= ranks or self._all_gone, timeout)
            if len(self._held) >= ranks:
                return tuple(self._held.values())
            why = "every worker has gone" if self._all_gone else f"{timeout:g} s have passed"
            held = f", {len(self._held)} of {ranks} workers held" if ranks > 1 else ""
            further = "further " if any(call.held for call in self._calls) else ""
            raise GateTimeout(f"{why}, and no {further}call carried {self._named}{held}\n{self._report()}")

    @property
    def _all_gone(self) -> bool:
        return 0 < self._connected == self._gone

    @property
    def _named(self) -> str:
        return " or ".join(f"`{name}`" for name in self.requests)

    def step(self) -> None:
        """Let the held calls go, and hold the next ones."""
        self._release(STEP)

    def open(self) -> None:
        """Let the held calls go, and hold none any more."""
        with self._changed:
            self._open = True
        self._release(GO_ON)

    def _release(self, word: bytes) -> None:
        with self._changed:
            held, self._held = self._held, {}
        for connection in held:
            with suppress(OSError):  # its worker has gone meanwhile
                connection.send_bytes(word)

    def report(self) -> str:
        """Every call that was seen, process by process."""
        with self._changed:
            return self._report()

    def _report(self) -> str:
        if self._calls:
            return report_on(self._calls)
        if self._connected:
            return "workers have started, and execute_model was never called"
        return (
            "no worker has connected: runnerctl has to be installed where the engine runs, and the engine has to start "
            "inside the gate"
        )

    def _listen(self) -> None:
        while not self._closing:
            try:
                connection = self._listener.accept()
            except OSError:
                continue
            if self._closing:
                connection.close()
                return
            threading.Thread(target=self._serve, args=[connection], name="gate", daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        try:
            deliver_challenge(connection, self._key)
            answer_challenge(connection, self._key)
        except (OSError, EOFError, AuthenticationError):  # not one of ours
            connection.close()
            return
        with self._changed:
            self._connected += 1
        with suppress(EOFError, OSError):
            while True:
                self._see(connection, Call.from_json(connection.recv_bytes()))
        with self._changed:
            self._gone += 1
            self._held.pop(connection, None)
            self._changed.notify_all()
        connection.close()

    def _see(self, connection: Connection, call: Call) -> None:
        with self._changed:
            self._calls.append(call)
            if call.held and not self._open:
                self._held[connection] = call
            self._changed.notify_all()
            let_go = call.held and self._open
        if let_go:
            connection.send_bytes(GO_ON)

    def _stop_listening(self) -> None:
        """A thread that waits in accept() wakes up only for a connection."""
        self._closing = True
        with suppress(OSError):
            Client(self._listener.address).close()
