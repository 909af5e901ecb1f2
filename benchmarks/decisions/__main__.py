"""Decisions a second, one at a time from a Python dict: ours and other rule engines over the same rules.

    python -m benchmarks.decisions [--rules 100,1000,10000] [--contexts 10000] [--rounds 5] [--check]

Engines that are not installed are left out and named. Every answer of the first round is compared with a reference.
The first round meets each deployment for the first time; the median of the others is what a service or a batch sees.
With --check the exit code is 1 where we are not as far ahead as `docs/performance.md` says.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Any

from benchmarks.decisions.engines import ENGINES, Engine
from benchmarks.decisions.workload import BenchRule, first_match, make_contexts, make_rules

OURS = "runnerctl: which rules match"
# (peer, rules, how many times faster); loading: how much of cedarpy's time.
AHEAD = (
    ("zen-engine", 100, 10),
    ("zen-engine", 1_000, 15),
    ("zen-engine", 10_000, 25),
    ("cedarpy", 1_000, 200),
)
LOADING = 1 / 3
# Seconds that one round may take: slow engines answer fewer deployments.
ROUND = 4.0


@dataclass(frozen=True)
class Measured:
    """Per second: `first` and `then`, the first round and the median of the others. Seconds: `load`."""

    load: float
    first: float
    then: float
    wrong: int


def measure(
    kind: type[Engine], rules: list[BenchRule], contexts: list[dict[str, Any]], rounds: int
) -> Measured:
    engine = kind()
    loads = []
    for _ in range(3):
        engine = kind()
        policy = engine.write(rules)
        gc.collect()
        began = time.perf_counter()
        engine.load(policy)
        loads.append(time.perf_counter() - began)
        if loads[0] > ROUND:
            break
    questions = [engine.question(context) for context in contexts]
    rates, answers = [], []
    for turn in range(rounds + 1):
        rate, given = _round(engine, questions)
        rates.append(rate)
        answers = given if turn == 0 else answers
    checked = list(zip(contexts, answers, strict=False))[:500]
    wrong = sum(answer != _expected(engine, rules, context) for context, answer in checked)
    return Measured(statistics.median(loads), rates[0], statistics.median(rates[1:]), wrong)


def _round(engine: Engine, questions: list[Any]) -> tuple[float, list[Any]]:
    answer = engine.answer
    given = []
    began = time.perf_counter()
    for number, question in enumerate(questions, 1):
        given.append(answer(question))
        if number % 64 == 0 and time.perf_counter() - began > ROUND:
            break
    return len(given) / (time.perf_counter() - began), given


def _expected(engine: Engine, rules: list[BenchRule], context: dict[str, Any]) -> Any:
    if engine.first_match:
        return first_match(rules, context)
    runners = [rule.runner for rule in rules if rule.matches(context)]
    return "v1" not in runners and "v2" in runners


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.decisions")
    parser.add_argument("--rules", default="100,1000,10000")
    parser.add_argument("--contexts", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wrong = behind = False
    for count in [int(text) for text in options.rules.split(",")]:
        rules = make_rules(count)
        contexts = make_contexts(rules, options.contexts)
        found: dict[str, Measured] = {}
        print(f"\n{count} rules\n\n| engine | decisions/s | first time seen | load, ms | ours is ahead |")
        print("|---|--:|--:|--:|--:|")
        for name, kind in ENGINES.items():
            try:
                found[name] = measure(kind, rules, contexts, options.rounds)
            except ImportError:
                print(f"| {name} | not installed | | | |")
                continue
            it = found[name]
            ratio = "" if name == OURS or OURS not in found else f"{found[OURS].then / it.then:.1f}x"
            print(
                f"| {name} | {it.then:,.0f} | {it.first:,.0f} | {it.load * 1e3:,.1f} | {ratio} |", flush=True
            )
            if it.wrong:
                print(f"{name}: {it.wrong} of the answers are wrong", file=sys.stderr)
                wrong = True
        behind |= [peer for peer, at, times in AHEAD if at == count and not _holds(found, peer, times)] != []
        if count >= 1_000 and "cedarpy" in found and found[OURS].load > found["cedarpy"].load * LOADING:
            print(
                f"loading takes {found[OURS].load / found['cedarpy'].load:.2f} of cedarpy's time",
                file=sys.stderr,
            )
            behind = True
    return int(wrong or (behind and options.check))


def _holds(found: dict[str, Measured], peer: str, times: int) -> bool:
    if peer not in found:
        return True
    ratio = found[OURS].then / found[peer].then
    if ratio < times:
        print(f"{ratio:.1f} times {peer}, and {times} is wanted", file=sys.stderr)
    return ratio >= times


if __name__ == "__main__":
    sys.exit(main())
