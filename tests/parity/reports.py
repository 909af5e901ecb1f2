"""Reports of comparisons that were never made: for what is worked out of a report."""

from __future__ import annotations

from typing import Any

from policy.engine.release import Runner
from runnerctl.parity.compare import Tolerances
from runnerctl.parity.report import make_report
from runnerctl.parity.workload import Workload

WORKLOAD = Workload("org/model", ("--enforce-eager",), ("a", (1, 2)), 2, (1, 8), 32, 5, 2)
MODULES = {"v1": "vllm.v1.worker.gpu_model_runner", "v2": "vllm.v1.worker.gpu.model_runner"}


def run(runner: Runner, *, tokens: int = 7, seconds: float = 1.0, again: bool = True) -> dict[str, Any]:
    answers = [
        {"tokens": [1, tokens], "logprobs": [-0.5, -1.0], "margins": [1.0, 0.5], "cumulative_logprob": -1.5},
        {"tokens": [3, 4], "logprobs": [-0.25, -0.25], "margins": [2.0, 2.0], "cumulative_logprob": -0.5},
    ]
    speed = [
        {
            "batch_size": size,
            "tokens": WORKLOAD.output_tokens,
            "first_token_seconds": [0.2 * seconds, 0.21 * seconds],
            "seconds": [1.0 * seconds, 1.01 * seconds],
        }
        for size in WORKLOAD.batch_sizes
    ]
    engine = {
        "architectures": ["LlamaForCausalLM"],
        "dtype": "torch.bfloat16",
        "quantization": None,
        "is_moe": False,
        "runner_type": "generate",
        "enforce_eager": False,
        "async_scheduling": True,
        "max_num_seqs": 1024,
        "tensor_parallel_size": 1,
    }
    return {
        "runner": runner,
        "start_seconds": 20.0 * seconds,
        "import_seconds": 5.0,
        "processes": [{"role": "worker", "rank": 0, "runner": runner, "module": MODULES[runner]}],
        "measured": {
            "vllm": "0.23.0+cu129",
            "engine": engine,
            "machine": {"device": "a GPU", "cpus": 16, "python": "3.12.3", "torch": "2.11.0"},
            "answers": answers,
            "answers_again": None if again else [{**answers[0], "tokens": [1, 99]}, answers[1]],
            "speed": speed,
        },
    }


def report(*runs: dict[str, Any], skipped: dict[Runner, str] | None = None) -> dict[str, Any]:
    return make_report(
        WORKLOAD,
        runs,
        skipped or {},
        Tolerances(),
        against=("v1", "v2"),
        command="runnerctl parity org/model",
        made="2026-12-01T23:00:00+00:00",
    )


SAME = report(run("v1"), run("v2"), run("v1"), run("v2"))
FASTER = report(run("v1"), run("v2", seconds=0.5))
SLOWER = report(run("v1"), run("v2", seconds=2.9))
DIFFERENT = report(run("v1"), run("v2", tokens=8))
NOISY = report(run("v1"), run("v1", seconds=3.0), run("v2", seconds=1.3), run("v2", seconds=2.9))
WAVERING = report(run("v1", again=False), run("v2"))
ONE_SIDED = report(run("v1"), skipped={"v2": "Model Runner V2 requires Triton."})
ALL = {
    "same": SAME,
    "faster": FASTER,
    "slower": SLOWER,
    "different": DIFFERENT,
    "noisy": NOISY,
    "wavering": WAVERING,
    "one-sided": ONE_SIDED,
}
