"""How long the exact analysis takes, and how much memory: `python -m benchmarks.analysis [RULES...]`.

The rules are those of `benchmarks.decisions`, each with a priority of its own, or all of equal weight. Each size runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

from benchmarks.decisions.engines import as_policy, versions_of
from benchmarks.decisions.workload import make_rules
from policy.analysis import analyse
from policy.document import Source, parse
from policy.engine import Catalog
from policy.rules.policy_set import compose, read_policy


def measure(count: int, *, ranked: bool) -> None:
    catalog = Catalog()
    rules = [
        {**rule, "enforce": "prefer", "priority": rule["priority"] if ranked else 0}
        for rule in as_policy(make_rules(count), versions_of(catalog))
    ]
    data = {
        "apiVersion": "runnerctl/v1",
        "kind": "RunnerPolicy",
        "metadata": {"name": "made-up"},
        "rules": rules,
    }
    policies = compose([read_policy(parse(Source("made-up.yaml", json.dumps(data))))])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    found = analyse(policies, catalog)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{count:6d} rules, {'a priority each' if ranked else 'equal priority'}: {seconds * 1e3:8.1f} ms, "
        f"peak {peak // 1024} MB (before {before // 1024}), {len(found.never_decides)} never decide, "
        f"{len(found.conflicts)} conflicts, cut: {[c.why for c in found.cut] or 'nothing'}"
    )


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[2] in ("ranked", "equal"):
        measure(int(sys.argv[1]), ranked=sys.argv[2] == "ranked")
    else:
        for size in sys.argv[1:] or ["10", "100", "1000", "10000"]:
            for weight in ("ranked", "equal"):
                subprocess.run([sys.executable, "-m", "benchmarks.analysis", size, weight], check=True)
