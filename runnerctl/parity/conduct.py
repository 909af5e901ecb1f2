"""Conducts one comparison: asks which runners can be had, starts their engines by turns, and makes the report."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from policy.compiled.artifact import write_atomically
from policy.engine import Catalog
from policy.engine.release import Runner
from runnerctl.parity.ask import AskError, why_not
from runnerctl.parity.compare import Tolerances
from runnerctl.parity.markdown import markdown_of
from runnerctl.parity.plots import PlotsUnavailable, draw
from runnerctl.parity.report import make_report
from runnerctl.parity.rule import rule_text
from runnerctl.parity.run import Run, RunFailed, run_engine
from runnerctl.parity.workload import Workload

__all__ = ["Comparison", "conduct", "write_report"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was asked for. `starts` engines of each runner, each with all of the workload's repeats."""

    workload: Workload
    against: Sequence[Runner]
    starts: int
    tolerances: Tolerances
    folder: Path
    timeout: float
    command: str


def conduct(
    comparison: Comparison, env: Mapping[str, str], catalog: Catalog, say: Callable[[str], None]
) -> dict[str, Any]:
    """Measure, and give the report. `say` is told of each step.

    Raises `RunFailed` where no engine at all did its work, or one used another runner than was asked for.
    """
    skipped: dict[Runner, str] = {}
    for runner in comparison.against:
        reason = why_not(runner, comparison.workload, env, catalog)
        if reason is not None:
            skipped[runner] = reason
            say(f"{runner} is left out: {reason}")
    if len(skipped) == len(comparison.against):
        raise AskError(f"nothing can be measured here: {'; '.join(skipped.values())}")
    runs = _run_by_turns(comparison, env, skipped, say)
    return make_report(
        comparison.workload,
        [run.as_json() for run in runs],
        skipped,
        comparison.tolerances,
        against=comparison.against,
        command=comparison.command,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _run_by_turns(
    comparison: Comparison, env: Mapping[str, str], skipped: dict[Runner, str], say: Callable[[str], None]
) -> list[Run]:
    """v1, v2, v1, v2, ...: what drifts on the machine meanwhile meets both."""
    runs: list[Run] = []
    failures: list[RunFailed] = []
    for turn in range(comparison.starts):
        for runner in comparison.against:
            if runner in skipped:
                continue
            number = len(runs) + len(failures) + 1
            say(f"engine {number}: {runner}, start {turn + 1} of {comparison.starts}")
            folder = comparison.folder / "engines" / f"{number}-{runner}"
            try:
                runs.append(run_engine(runner, comparison.workload, folder, env, timeout=comparison.timeout))
            except RunFailed as failure:
                if failure.different:
                    raise
                say(str(failure))
                failures.append(failure)
                skipped[runner] = f"its engine failed: {str(failure).splitlines()[0]}"
                runs = [run for run in runs if run.runner != runner]
    if not runs:
        raise failures[0]
    return runs


def write_report(
    report: Mapping[str, Any], folder: Path, formats: Sequence[str], *, must_draw: bool
) -> list[str]:
    """Write report.json, report.md, rule.yaml and the pictures; give notes on what was left out.

    Raises `PlotsUnavailable` with `must_draw`, `OSError` otherwise.
    """
    notes: list[str] = []
    folder.mkdir(parents=True, exist_ok=True)
    pictures: list[str] = []
    if formats:
        try:
            pictures = draw(report, folder, formats)
        except PlotsUnavailable as error:
            if must_draw:
                raise
            notes.append(str(error))
    rule = rule_text(report, datetime.fromisoformat(report["made"]).date())
    write_atomically(folder / "report.json", json.dumps(report, indent=1) + "\n")
    shown = [name for name in pictures if name.endswith(".svg")] or pictures
    write_atomically(folder / "report.md", markdown_of(report, rule, shown))
    if rule is None:
        (folder / "rule.yaml").unlink(missing_ok=True)  # of an earlier report in the same folder
    else:
        write_atomically(folder / "rule.yaml", rule)
    return notes
