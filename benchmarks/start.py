"""Start of whole processes, in pairs: `runnerctl resolve` with a policy of 50 rules against a Typer hello world.

    python benchmarks/start.py [RUNS]

Both run under this interpreter and its Typer, in turn, so that the machine's drift meets both. What counts is the
median of the ratios, pair by pair. Then the guard without a policy: what it adds to loading its entry point.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

HELLO = """
import typer

app = typer.Typer()


@app.command()
def main(name: str = "world") -> None:
    print("hello", name)


app()
"""
ARCHITECTURES = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen3ForCausalLM", "Gemma3ForCausalLM")
GUARD = """
import time
from importlib.metadata import EntryPoint
began = time.perf_counter()
load = EntryPoint("runnerctl", "runnerctl.guard:load", "vllm.general_plugins").load()
load()
print(time.perf_counter() - began)
"""


def policy(rules: int) -> str:
    lines = ["apiVersion: runnerctl/v1", "kind: RunnerPolicy", "metadata: {name: bench}", "rules:"]
    for i in range(rules):
        lines += [
            f"  - id: rule-{i}",
            "    match:",
            f"      architectures: [{ARCHITECTURES[i % 4]}, {ARCHITECTURES[(i + 1) % 4]}]",
            f'      vllm: ">=0.{22 + i % 8},<0.{25 + i % 8}"',
            f"      labels.team: team-{i}",
            "      model_config.is_moe: false",
            f"    runner: {'v1' if i % 2 else 'v2'}",
            "    enforce: prefer",
            f"    priority: {i}",
            f"    reason: rule {i}",
        ]
    return "\n".join(lines) + "\n"


def seconds(command: Sequence[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 25
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed has its byte code
    python = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder, "fifty.yaml")
        rules.write_text(policy(50))
        hello = Path(folder, "hello.py")
        hello.write_text(HELLO)
        facts = ["--set", "architectures=[LlamaForCausalLM]", "--set", "labels.team=team-3"]
        ours = [
            str(Path(python).parent / "runnerctl"),
            "resolve",
            "-p",
            str(rules),
            "--vllm",
            "0.23.0",
            *facts,
        ]
        theirs = [python, str(hello)]
        seconds(ours), seconds(theirs)  # warm the caches of the disk
        pairs = [(seconds(ours), seconds(theirs)) for _ in range(runs)]
        guard = [
            float(subprocess.run([python, "-c", GUARD], capture_output=True, text=True, check=True).stdout)
            for _ in range(runs)
        ]
    print(f"{runs} pairs on {os.cpu_count()} cores, Python {sys.version.split()[0]}")
    print(f"resolve, 50 rules  {1000 * statistics.median(a for a, _ in pairs):7.1f} ms")
    print(f"typer hello world  {1000 * statistics.median(b for _, b in pairs):7.1f} ms")
    print(f"ratio              {statistics.median(a / b for a, b in pairs):7.2f}")
    print(f"guard, no policy   {1000 * statistics.median(guard):7.3f} ms with its entry point")


if __name__ == "__main__":
    main()
