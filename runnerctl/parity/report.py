"""The report of one comparison, as the JSON object of `schemas/parity.schema.json`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from policy.engine.release import Runner
from runnerctl.parity.compare import (
    Finding,
    Spread,
    Tolerances,
    compare_answers,
    compare_speed,
    spread_of,
)
from runnerctl.parity.workload import Workload

__all__ = ["figures_of", "make_report"]

Figures = dict[str, dict[str, Spread]]


def make_report(
    workload: Workload,
    runs: Sequence[Mapping[str, Any]],
    skipped: Mapping[Runner, str],
    tolerances: Tolerances,
    *,
    against: Sequence[Runner],
    command: str,
    made: str,
) -> dict[str, Any]:
    """The report on `runs` (`Run.as_json()`), at least one. `skipped` says why a runner was not measured."""
    measured = [runner for runner in against if any(run["runner"] == runner for run in runs)]
    findings = list(_findings(measured, runs, tolerances)) if len(measured) == 2 else []
    first = runs[0]["measured"]
    return {
        "apiVersion": "runnerctl/v1",
        "kind": "ParityReport",
        "made": made,
        "command": command,
        "vllm": first["vllm"],
        "engine": first["engine"],
        "machine": first["machine"],
        "against": list(against),
        "measured": measured,
        "skipped": dict(skipped),
        "tolerances": tolerances.as_json(),
        "verdict": _verdict(measured, findings),
        "findings": [finding.as_json() for finding in findings],
        "figures": {
            runner: {
                name: {size: s.as_json() for size, s in by.items()}
                for name, by in figures_of(runs, runner).items()
            }
            for runner in measured
        },
        "workload": workload.as_json(),
        "runs": [dict(run) for run in runs],
    }


def figures_of(runs: Sequence[Mapping[str, Any]], runner: str) -> Figures:
    """Every quantity of a runner over all its engines and repeats, by batch size; `start_seconds` has none (`-`)."""
    own = [run for run in runs if run["runner"] == runner]
    figures: Figures = {"start_seconds": {"-": spread_of(run["start_seconds"] for run in own)}}
    for entry in own[0]["measured"]["speed"]:
        size = entry["batch_size"]
        same = [e for run in own for e in run["measured"]["speed"] if e["batch_size"] == size]
        firsts = [s for e in same for s in e["first_token_seconds"]]
        rates = [size * e["tokens"] / s for e in same for s in e["seconds"]]
        betweens = [
            (s - f) / (e["tokens"] - 1)
            for e in same
            for s, f in zip(e["seconds"], e["first_token_seconds"], strict=True)
        ]
        figures.setdefault("tokens_per_second", {})[str(size)] = spread_of(rates)
        figures.setdefault("first_token_seconds", {})[str(size)] = spread_of(firsts)
        figures.setdefault("seconds_per_token", {})[str(size)] = spread_of(betweens)
    return figures


def _findings(
    measured: Sequence[str], runs: Sequence[Mapping[str, Any]], tolerances: Tolerances
) -> Iterator[Finding]:
    answers = [
        [each for run in runs if run["runner"] == runner for each in _answers(run)] for runner in measured
    ]
    yield compare_answers(answers[0], answers[1], tolerances)
    ours, theirs = (figures_of(runs, runner) for runner in measured)
    for name, by in ours.items():
        for size, spread in by.items():
            what = name if size == "-" else f"{name} at {size}"
            yield compare_speed(
                what, spread, theirs[name][size], tolerances, more_is_better=name == "tokens_per_second"
            )


def _answers(run: Mapping[str, Any]) -> list[Any]:
    again = run["measured"]["answers_again"]
    return [run["measured"]["answers"], *([again] if again else [])]


def _verdict(measured: Sequence[str], findings: Sequence[Finding]) -> dict[str, Any]:
    """The answers decide; speed is told beside them, by throughput."""
    if len(measured) < 2:
        return {
            "answers": "not-compared",
            "speed": "not-compared",
            "text": f"only {measured[0]} could be measured",
        }
    first, second = measured
    answers = findings[0]
    speeds = [f for f in findings if f.what.startswith("tokens_per_second")]
    speed = _speed(speeds)
    sizes = ", ".join(f.what.rpartition(" ")[2] for f in speeds if f.verdict == "different")
    said = {
        "faster": f"{second} is faster than {first} (batches of {sizes})",
        "slower": f"{second} is slower than {first} (batches of {sizes})",
        "mixed": f"{second} is faster at some batch sizes and slower at others",
        "same": f"{first} and {second} are as fast as each other, within the tolerance",
        "undetermined": "which is faster cannot be told from these measurements",
        "not-compared": "speed was not compared",
    }[speed]
    words = {
        "same": f"{first} and {second} answer the same",
        "different": f"{first} and {second} answer differently",
        "undetermined": "whether they answer the same cannot be told",
    }[answers.verdict]
    return {"answers": answers.verdict, "speed": speed, "text": f"{words}; {said}"}


def _speed(findings: Sequence[Finding]) -> str:
    if not findings:
        return "not-compared"
    told = [f for f in findings if f.verdict == "different"]
    directions = {f.detail["gain"] > 1 for f in told}
    if len(directions) == 2:
        return "mixed"
    if directions:
        return "faster" if directions.pop() else "slower"
    return "undetermined" if any(f.verdict == "undetermined" for f in findings) else "same"
