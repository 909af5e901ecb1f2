"""A part of a lint in a process beside it: the same findings, whatever becomes of that process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from policy.lint.finding import Edit, Finding, Fix, Related, Span
from runnerctl.cli.beside import beside

RUNNERCTL = str(Path(sys.executable).parent / "runnerctl")
PLACE = Span("ü.yaml", 3, 5, 9)
FOUND = [
    Finding("RM211", "never-decides", "error", "it never does", PLACE),
    Finding(
        "RE322", "redundant-rule", "note", "ü \udcff", PLACE, "help", (Related(PLACE, "there"),),
        Fix("mend it", (Edit(PLACE, "x"),), safe=False),
    ),
]  # fmt: skip
HERE = os.getpid()
several_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")


@pytest.fixture
def one_core() -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


@several_cores
def test_the_work_is_done_in_another_process() -> None:
    def work() -> list[Finding]:
        return [FOUND[0]._replace(message=str(os.getpid())), *FOUND]

    first, *rest = beside(work)()
    assert rest == FOUND
    assert first.message != str(HERE)


@several_cores
@pytest.mark.parametrize("end", [lambda: os._exit(0), lambda: os.kill(os.getpid(), signal.SIGKILL), sys.exit])
def test_a_process_that_ends_early_is_done_without(end: object, capfd: pytest.CaptureFixture[str]) -> None:
    def work() -> list[Finding]:
        if os.getpid() != HERE:
            end()  # type: ignore[operator]
        return FOUND

    assert beside(work)() == FOUND
    assert "Traceback" not in capfd.readouterr().err


@several_cores
def test_what_the_work_raises_is_raised_here(capfd: pytest.CaptureFixture[str]) -> None:
    def work() -> list[Finding]:
        raise LookupError(str(os.getpid()))

    result = beside(work)
    with pytest.raises(LookupError, match=str(HERE)):
        result()
    assert capfd.readouterr().err == ""


ENDLESS = """
import os, sys, time
from runnerctl.cli.beside import beside
def work():
    while os.getpid() != here:
        time.sleep(0.01)
    return []
here = os.getpid()
beside(work)
print(open(f"/proc/self/task/{here}/children").read(), flush=True)
time.sleep(60)
"""


@several_cores
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_it_ends_with_the_program_and_keeps_nobody_waiting(sent: signal.Signals) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    child = int(program.stdout.readline())
    program.send_signal(sent)
    program.communicate(timeout=5)  # whoever holds its streams holds this up
    for _ in range(100):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the process beside it goes on")


@pytest.mark.usefixtures("one_core")
def test_with_one_core_it_is_done_here() -> None:
    assert beside(os.getpid)() == HERE  # type: ignore[arg-type, comparison-overlap]


@pytest.mark.usefixtures("one_core")
def test_a_large_lint_finds_the_same_with_one_core(tmp_path: Path) -> None:
    rules = [
        f"- {{id: r{i}, match: {{labels.team: t{i % 700}, vllm: '>=0.23.dev0'}}, runner: {'v1' if i % 3 else 'v2'}, reason: {'x' * 150}}}"
        for i in range(800)
    ]
    head = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: many, owner: o}\nrules:\n"
    (tmp_path / "p.yaml").write_text(head + "\n".join(rules) + "\n")
    command = [RUNNERCTL, "lint", "--no-cache", "--format", "json", "p.yaml"]
    alone = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    both = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert (alone.stdout, alone.stderr, alone.returncode) == (both.stdout, both.stderr, both.returncode)
    assert alone.returncode == 1
    assert alone.stdout.count(b"RM212") > 50
