"""A part of a run in a process beside it, where there is another core. The run does without where that fails."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import NoReturn

from policy.lint.finding import Finding, finding_from_json

__all__ = ["beside"]

# Seconds between two looks at whether there is still somebody to answer.
LOOKS_EVERY = 0.1
Work = Callable[[], Sequence[Finding]]


def beside(work: Work) -> Work:
    """Begin `work` at once in a copy of this process. Calling the result waits for what it found.

    Nothing that it does but its findings comes back. Where no process can be made, or it ends without an answer, the
    work is done here when its result is asked for, and raises here what it raises.
    """
    if len(_cores()) < 2:
        return work
    try:
        reading, writing = os.pipe()
    except OSError:
        return work
    parent = os.getpid()
    try:
        child = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        return work
    if child == 0:
        _answer(work, reading, writing, parent)
    os.close(writing)

    def result() -> Sequence[Finding]:
        with open(reading, "rb") as pipe:  # noqa: PTH123
            answer = pipe.read()
        os.waitpid(child, 0)
        try:
            return [finding_from_json(entry) for entry in json.loads(answer)]
        except ValueError:  # there is none, or a part of one
            return work()

    return result


def _cores() -> Sequence[int]:
    if not hasattr(os, "fork") or not hasattr(os, "sched_getaffinity"):
        return ()
    return tuple(os.sched_getaffinity(0))


def _leave_with(parent: int) -> None:
    """End this process soon after `parent`, however that ends."""
    import signal  # 2 ms, which the program itself need not spend

    def look(_signal: int, _frame: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, LOOKS_EVERY, LOOKS_EVERY)


def _answer(work: Work, reading: int, writing: int, parent: int) -> NoReturn:
    """The life of the copy: it must not come back into the program, nor write what the program has buffered."""
    status = 1  # then the process beside will meet what went wrong
    try:
        os.close(reading)
        _leave_with(parent)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):  # who reads what the program writes must not wait for this process
            os.dup2(nowhere, stream)
        with open(writing, "wb") as pipe:
            pipe.write(json.dumps(work()).encode("ascii"))
        status = 0
    finally:
        os._exit(status)
