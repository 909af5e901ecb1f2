"""One call of `Worker.execute_model` as a gate sees it, and many of them as text."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

__all__ = ["SHOWN", "Call", "carries", "report_on"]

SHOWN = 5  # request ids that a call keeps; V2 warms up with a thousand
WARM_UP = "warm-up"
SERVING = "serving"


@dataclass(frozen=True, slots=True)
class Call:
    """`scheduled` and `finished` are counts, `tokens` how many each scheduled request has (distinct values).

    `ids` and `finished_ids` are the first few. `carries` says that the call carries the gate's request, `held` that
    the gate held it.
    """

    pid: int
    host: str
    rank: int
    number: int
    phase: str
    scheduled: int
    tokens: tuple[int, ...]
    ids: tuple[str, ...]
    finished: int
    finished_ids: tuple[str, ...]
    carries: bool = False
    held: bool = False

    @classmethod
    def of(
        cls, scheduler_output: Any, *, rank: int, number: int, phase: str, carries: bool, held: bool
    ) -> Call:
        """From vLLM's `SchedulerOutput`."""
        scheduled = scheduler_output.num_scheduled_tokens
        finished = sorted(scheduler_output.finished_req_ids)
        return cls(
            os.getpid(),
            socket.gethostname(),
            rank,
            number,
            phase,
            len(scheduled),
            tuple(sorted({int(count) for count in scheduled.values()})),
            tuple(scheduled)[:SHOWN],
            len(finished),
            tuple(finished)[:SHOWN],
            carries,
            held,
        )

    @classmethod
    def from_json(cls, text: bytes) -> Call:
        data: dict[str, Any] = json.loads(text)
        lists = {name: tuple(value) for name, value in data.items() if isinstance(value, list)}
        return cls(**{**data, **lists})

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @property
    def shape(self) -> tuple[Any, ...]:
        """What two calls in a row share that are told in one line."""
        return (
            self.phase,
            self.scheduled,
            self.tokens,
            self.ids,
            self.finished,
            self.finished_ids,
            self.held,
        )

    def __str__(self) -> str:
        parts = []
        if self.scheduled:
            counts = "/".join(map(str, self.tokens))
            parts.append(
                f"{self.scheduled} scheduled, tokens each {counts}: {_ids(self.ids, self.scheduled)}"
            )
        if self.finished:
            parts.append(f"{self.finished} finished: {_ids(self.finished_ids, self.finished)}")
        held = ", held" if self.held else ""
        return f"{self.phase}{held}: {'; '.join(parts) or 'no request'}"


def carries(wanted: Sequence[str], scheduled: Iterable[str], finished: Iterable[str], stage: str) -> bool:
    """Whether a call has a wanted request: its exact id, or the id that vLLM makes of it, `id-` and a suffix.

    `stage` says where to look: `scheduled`, `finished`, or `any`.
    """
    places = {"scheduled": [scheduled], "finished": [finished], "any": [scheduled, finished]}[stage]
    return any(
        found == one or found.startswith(f"{one}-") for ids in places for found in ids for one in wanted
    )


def report_on(calls: Sequence[Call]) -> str:
    """Every call, process by process; calls in a row that look the same share a line."""
    lines = []
    for (host, pid, rank), own in groupby(sorted(calls, key=_process), key=_process):
        mine = list(own)
        lines.append(f"worker rank {rank} (pid {pid} on {host}): {_plural(len(mine), 'call')}")
        lines.extend(f"  {line}" for line in _runs(mine))
    return "\n".join(lines)


def _process(call: Call) -> tuple[str, int, int]:
    return call.host, call.pid, call.rank


def _runs(calls: Sequence[Call]) -> Iterator[str]:
    for _, group in groupby(calls, key=lambda call: call.shape):
        run = list(group)
        numbers = f"#{run[0].number}" if len(run) == 1 else f"#{run[0].number} to #{run[-1].number}"
        yield f"{numbers} {run[0]}"


def _ids(ids: Sequence[str], count: int) -> str:
    return ", ".join(f"`{name}`" for name in ids) + (", ..." if count > len(ids) else "")


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
