"""`resolve --batch` as a whole process: decisions a second, and memory for one and for four times as many lines.

    python benchmarks/batch.py [LINES]

The deployments are the oracle's, each with its own id, labels and variables, over one release.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ORACLE = ROOT / "tests" / "engine_catalog" / "oracle_cases.jsonl.gz"
RUNNERCTL = Path(sys.executable).with_name("runnerctl")


def write(path: Path, lines: int) -> None:
    with gzip.open(ORACLE, "rt") as rows:
        cases = [json.loads(row)["facts"] for row in rows]
    with path.open("w") as out:
        for number in range(lines):
            facts = cases[number % len(cases)]
            own = {
                "labels": {"rack": str(number)},
                "env": {**(facts.get("env") or {}), "POD": f"vllm-{number}"},
            }
            out.write(json.dumps({"id": number, "vllm": "0.29.0", "facts": {**facts, **own}}) + "\n")


def run(path: Path, arguments: list[str]) -> tuple[float, float]:
    """Seconds of CPU, and the peak of memory in MB."""
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(RUNNERCTL, ["runnerctl", "resolve", *arguments, "--batch", str(path)])  # noqa: S606
    _, _, usage = os.wait4(child, 0)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed has its byte code
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        few, many = Path(folder, "few.jsonl"), Path(folder, "many.jsonl")
        write(few, lines)
        write(many, 4 * lines)
        began = time.perf_counter()
        for name, arguments in (
            ("--no-policy", ["--no-policy"]),
            ("-p configs", ["-p", str(ROOT / "configs")]),
        ):
            once, memory = run(few, arguments)
            four_times, more_memory = run(many, arguments)
            rate = 3 * lines / (four_times - once)
            print(
                f"{name}: {lines / once:,.0f} decisions/s as a whole process of {lines} lines, {rate:,.0f} without its"
                f" start; memory {memory:.0f} MB for {lines} lines, {more_memory:.0f} MB for {4 * lines}"
            )
        print(f"{time.perf_counter() - began:.1f} s in all")


if __name__ == "__main__":
    main()
