"""Lint of 200 small policy files as whole processes, in pairs: `runnerctl lint` against `check-jsonschema`.

    python benchmarks/lint.py CHECK_JSONSCHEMA [PAIRS]

CHECK_JSONSCHEMA is the command of that name in an environment of its own. It checks the schema only; ours reads the
same files with all its checks on, as by default, without its cache and with it warm. All run in turn, so that the machine's
drift meets each of them; what counts is the median of the ratios, pair by pair. The files are the same in every run:
about 551 KB, 2,040 rules, each with a reason and a test.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from policy.document.schema import schema_folder
from policy.engine import Catalog

FILES, RULES = 200, 2040
RELEASES = ["0.22.0", "0.23.0", "0.24.0", "0.25.0", "0.26.0", "0.27.0", "0.28.0"]
CONDITIONS = [
    ("model_config.is_moe", "false", "false"),
    ("model_config.is_quantized", "true", "true"),
    ("platform", "[cuda, rocm]", "cuda"),
    ("parallel_config.tensor_parallel_size", "{ge: 4}", "8"),
    ("model_config.runner_type", "generate", "generate"),
    ("kv_transfer_config.kv_connector", '"LMCache*"', "LMCacheConnectorV1"),
]


def policies(folder: Path) -> int:
    """Write the files; how many bytes they are. Each rule is one team's, for a model and a range of releases."""
    dice = random.Random(11)  # noqa: S311  (the same files every time)
    known = [set(Catalog().architecture_names(release)) for release in RELEASES]
    names = sorted(name for name in set.intersection(*known) if name.endswith("ForCausalLM"))
    size = rule = 0
    for number in range(FILES):
        rules, tests = [], []
        for _ in range(RULES // FILES + (number % 5 == 0)):
            architecture, first = dice.choice(names), dice.randrange(4)
            last = dice.randrange(first + 1, len(RELEASES))
            low, high = (RELEASES[i].removesuffix(".0") for i in (first, last))
            path, wanted, given = dice.choice(CONDITIONS)
            asked = rule % 5 == 0
            runner = dice.choice(["v1", "v2"])
            match = (
                f'{{architectures: {architecture}, vllm: ">={low}.dev0,<{high}.dev0", labels.team: t{rule}'
                + (f", {path}: {wanted}}}" if asked else "}")
            )
            rules.append(f"- {{id: r{rule}, match: {match}, runner: {runner}, reason: t{rule} runs it so}}")
            facts = f"{{vllm: {RELEASES[first]}, architectures: [{architecture}], labels.team: t{rule}" + (
                f", {path}: {given}}}" if asked else "}"
            )
            tests.append(f"- {{given: {facts}, expect: {{rule: r{rule}}}}}")
            rule += 1
        head = f"apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {{name: team-{number}, owner: team-{number}}}\n"
        text = head + "\n".join(["rules:", *rules, "tests:", *tests]) + "\n"
        Path(folder, f"team-{number:03}.yaml").write_text(text)
        size += len(text)
    if rule != RULES:
        raise SystemExit(f"{rule} rules, not {RULES}")
    return size


def seconds(command: Sequence[str], env: dict[str, str], folder: str) -> float:
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=folder)
    took = time.perf_counter() - began
    if done.returncode > 1:  # 1: something was found, as `ALL` does
        sys.exit(f"{command[0]} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return took


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with tempfile.TemporaryDirectory() as folder:
        files, cache = Path(folder, "policies"), Path(folder, "cache")
        files.mkdir()
        size = policies(files)
        env = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed has its byte code
        schema = str(schema_folder() / "policy.schema.json")
        ours = [str(Path(sys.executable).parent / "runnerctl"), "lint", str(files)]
        theirs = [sys.argv[1], "--schemafile", schema, *map(str, sorted(files.iterdir()))]
        cold, warm, other = [*ours, "--no-cache"], ours, theirs
        every = (cold, warm, other)
        for command in every:  # meet the disk, and fill the cache
            seconds(command, env, folder)
        times = [[seconds(command, env, folder) for command in every] for _ in range(pairs)]
    medians = [statistics.median(column) * 1000 for column in zip(*times, strict=True)]
    ratios = [statistics.median(t[2] / t[i] for t in times) for i in (0, 1)]
    print(
        f"{FILES} files, {size / 1000:.0f} KB, {RULES} rules; {pairs} pairs, {os.cpu_count()} cores, Python {sys.version.split()[0]}"
    )
    print(f"runnerctl lint               {medians[0]:7.0f} ms   {ratios[0]:5.1f} times faster")
    print(f"the same, warm cache         {medians[1]:7.0f} ms   {ratios[1]:5.1f} times faster")
    print(f"check-jsonschema, schema     {medians[2]:7.0f} ms")
    print(
        json.dumps(
            {
                "cold_ms": medians[0],
                "warm_ms": medians[1],
                "peer_ms": medians[2],
                "ratio": ratios[0],
            }
        )
    )


if __name__ == "__main__":
    main()
