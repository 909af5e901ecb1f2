"""How long the exact analysis takes, and how much memory: `python benchmarks/analysis.py [RULES...]`.

The rules are those of a made-up fleet: exact, prefix and infix architectures, a range of releases, a platform and two
of eight booleans. Each size runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import time
from typing import Any

from policy.analysis import analyse
from policy.document import Source, parse
from policy.engine import Catalog
from policy.rules.policy_set import compose, read_policy

PLATFORMS = ["cuda", "rocm", "tpu", "cpu"]
FEATURES = [
    "model_config.is_moe",
    "model_config.is_quantized",
    "model_config.is_hybrid",
    "model_config.is_multimodal_model",
    "parallel_config.enable_dbo",
    "parallel_config.enable_expert_parallel",
    "has_triton",
    "host.wsl",
]
SUFFIXES = ["ForCausalLM", "ForConditionalGeneration", "MoeForCausalLM"]
FAMILIES = [f"Fam{i:03d}" for i in range(100)]
VERSIONS = [f"{a}.{b}.{c}" for a in (0, 1) for b in range(20) for c in range(3)]


def rules(count: int, *, ranked: bool) -> list[dict[str, Any]]:
    """`ranked`: each its own priority, as in a first-match policy; else all weigh the same."""
    chance = random.Random(7)  # noqa: S311  (a workload, not a secret)
    found = []
    for i in range(count):
        kind, family = chance.random(), chance.choice(FAMILIES)
        if kind < 0.5:
            architecture = family + chance.choice(SUFFIXES)
        elif kind < 0.85:
            architecture = f"{family}*"
        else:
            architecture = f"{family[:5]}*{chance.choice(SUFFIXES)}"
        low, high = sorted(chance.sample(range(len(VERSIONS)), 2))
        match = {
            "architectures": architecture,
            "vllm": f">={VERSIONS[low]},<{VERSIONS[high]}",
            "platform": chance.choice(PLATFORMS),
            **{path: chance.random() < 0.5 for path in chance.sample(FEATURES, 2)},
        }
        runner = "v2" if chance.random() < 0.7 else "v1"
        rule = {"id": f"r{i:05d}", "match": match, "runner": runner, "enforce": "prefer"}
        found.append({**rule, "priority": count - i if ranked else 0})
    return found


def measure(count: int, *, ranked: bool) -> None:
    data = {
        "apiVersion": "runnerctl/v1",
        "kind": "RunnerPolicy",
        "metadata": {"name": "made-up"},
        "rules": rules(count, ranked=ranked),
    }
    policies = compose([read_policy(parse(Source("made-up.yaml", json.dumps(data))))])
    catalog = Catalog()
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
                subprocess.run([sys.executable, __file__, size, weight], check=True)
