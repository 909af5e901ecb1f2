"""Starts one engine for a comparison: through `runnerctl launch`, under a policy that requires its runner."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policy.compiled.artifact import write_atomically
from policy.engine.release import Runner
from runnerctl.attestation.record import read_records
from runnerctl.attestation.report import report_on
from runnerctl.parity.workload import Workload
from runnerctl.testing.guarded import forcing_policy_text

__all__ = ["Run", "RunFailed", "run_engine"]

TAIL = 15  # lines of a failed engine's log that are shown


class RunFailed(Exception):  # noqa: N818  (what happened)
    """An engine that did not do its work. `different` says that the guard found another runner than was asked for."""

    def __init__(self, message: str, *, different: bool = False) -> None:
        super().__init__(message)
        self.different = different


@dataclass(frozen=True, slots=True)
class Run:
    """What one engine measured, and what its guards attested."""

    runner: Runner
    measured: Mapping[str, Any]
    start_seconds: float
    processes: tuple[Mapping[str, Any], ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "runner": self.runner,
            "start_seconds": self.start_seconds,
            "import_seconds": self.measured["start"]["imported"] - self.measured["start"]["began"],
            "processes": list(self.processes),
            "measured": {k: v for k, v in self.measured.items() if k not in ("start", "runner")},
        }


def run_engine(
    runner: Runner, workload: Workload, folder: Path, env: Mapping[str, str], *, timeout: float
) -> Run:
    """Launch, measure and attest one engine; its log and records stay in `folder`. Raises `RunFailed`, `OSError`."""
    folder.mkdir(parents=True, exist_ok=True)
    policy, given, result = folder / "policy.yaml", folder / "workload.json", folder / "result.json"
    write_atomically(policy, forcing_policy_text(runner))
    write_atomically(given, json.dumps(workload.as_json(), indent=1) + "\n")
    result.unlink(missing_ok=True)
    records = folder / "records"
    launch = [sys.executable, "-m", "runnerctl", "launch", "--policy", str(policy), "--defer"]
    command = [sys.executable, "-m", "runnerctl.parity.measure", str(given), str(result)]
    began = time.time()
    with (folder / "engine.log").open("w", encoding="utf-8") as log:
        try:
            done = subprocess.run(
                [*launch, "--attest", str(records), "--", *command],
                env=dict(env),
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise RunFailed(f"{runner}: not done after {timeout:g} s\n{_tail(folder)}") from error
    found = report_on(list(read_records(records)))
    wrong = [p for p in found.problems if "no front end" not in p or done.returncode == 0]
    if found.records and any(not r.agrees or r.runner != runner for r in found.records):
        raise RunFailed(f"{runner}: {'; '.join(found.problems)}", different=True)
    if done.returncode != 0 or not result.is_file():
        raise RunFailed(f"{runner}: the engine ended with {done.returncode}\n{_tail(folder)}")
    if wrong:
        raise RunFailed(f"{runner}: {'; '.join(wrong)}", different=True)
    measured = json.loads(result.read_text("utf-8"))
    processes = tuple(
        {"role": r.role, "rank": r.rank, "runner": r.runner, "module": r.module} for r in found.records
    )
    return Run(runner, measured, measured["start"]["ready"] - began, processes)


def _tail(folder: Path) -> str:
    log = folder / "engine.log"
    lines = log.read_text("utf-8", errors="replace").splitlines()
    return "\n".join(f"  {line}" for line in lines[-TAIL:]) + f"\n  (all of it in {log})"
