"""Runs inside the launched process: starts one engine, does the workload, leaves what it measured in a file.

python -m runnerctl.parity.measure WORKLOAD.json RESULT.json
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

from policy.compiled.artifact import write_atomically
from runnerctl.parity.workload import Workload

__all__ = ["main"]

TOP = 2  # log-probabilities a token: the chosen one and the runner-up, whose distance tells a tie


def main(workload: Workload, result: Path) -> None:
    """Do `workload` and write `result`. Whatever fails ends the process with vLLM's own error."""
    began = time.time()
    import vllm  # noqa: PLC0415  (measured)

    imported = time.time()
    llm = vllm.LLM(**_engine_kwargs(workload))
    ready = time.time()
    config = llm.llm_engine.vllm_config
    answers = _answers(llm, workload)
    answers = _answers(llm, workload)
    again = _answers(llm, workload)
    measured: dict[str, Any] = {
        "vllm": str(vllm.__version__),
        "runner": "v2" if config.use_v2_model_runner else "v1",
        "start": {"began": began, "imported": imported, "ready": ready},
        "engine": _engine(config),
        "machine": _machine(),
        "answers": answers,
        # Kept where the same engine answers otherwise the second time.
        "answers_again": None if _tokens(again) == _tokens(answers) else again,
        "speed": [_speed(llm, workload, size) for size in workload.batch_sizes],
    }
    write_atomically(result, json.dumps(measured, indent=1) + "\n")


def _engine_kwargs(workload: Workload) -> dict[str, Any]:
    """The arguments of `vllm serve`, as the constructor of `LLM` takes them: those that are not the default."""
    from vllm import EngineArgs  # noqa: PLC0415
    from vllm.utils.argparse_utils import FlexibleArgumentParser  # noqa: PLC0415

    parser = EngineArgs.add_cli_args(FlexibleArgumentParser())
    given = vars(parser.parse_args(["--model", workload.model, *workload.engine_args]))
    plain = vars(parser.parse_args(["--model", workload.model]))
    changed = {name: value for name, value in given.items() if value != plain[name]}
    return {"disable_log_stats": True, "seed": workload.seed, **changed, "model": workload.model}


def _engine(config: Any) -> dict[str, Any]:
    model, scheduler = config.model_config, config.scheduler_config
    return {
        "architectures": list(model.architectures),
        "dtype": str(model.dtype),
        "quantization": model.quantization,
        "is_moe": bool(getattr(model, "is_moe", False)),
        "runner_type": str(model.runner_type),
        "enforce_eager": bool(model.enforce_eager),
        "async_scheduling": bool(scheduler.async_scheduling),
        "max_num_seqs": int(scheduler.max_num_seqs),
        "tensor_parallel_size": int(config.parallel_config.tensor_parallel_size),
    }


def _machine() -> dict[str, Any]:
    import os  # noqa: PLC0415
    import platform  # noqa: PLC0415

    import torch  # noqa: PLC0415

    device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else _processor()
    return {
        "device": device,
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def _answers(llm: Any, workload: Workload) -> list[dict[str, Any]]:
    """The greedy tokens of each prompt, each with its log-probability and how far the runner-up was."""
    from vllm import SamplingParams, TokensPrompt  # noqa: PLC0415

    llm.reset_prefix_cache()
    parameters = SamplingParams(temperature=0, max_tokens=workload.max_tokens, ignore_eos=True, logprobs=TOP)
    prompts = [p if isinstance(p, str) else TokensPrompt(prompt_token_ids=list(p)) for p in workload.prompts]
    found = []
    for output in llm.generate(prompts, parameters, use_tqdm=False):
        completion = output.outputs[0]
        tokens = [int(token) for token in completion.token_ids]
        steps = [_step(token, top) for token, top in zip(tokens, completion.logprobs, strict=True)]
        found.append(
            {
                "tokens": tokens,
                "logprobs": [logprob for logprob, _ in steps],
                "margins": [margin for _, margin in steps],
                "cumulative_logprob": float(completion.cumulative_logprob),
            }
        )
    return found


def _processor() -> str:
    """The processor's name where Linux tells it, else its architecture."""
    import platform  # noqa: PLC0415

    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _tokens(answers: list[dict[str, Any]]) -> list[Any]:
    return [answer["tokens"] for answer in answers]


def _step(token: int, top: Any) -> tuple[float, float]:
    chosen = float(top[token].logprob)
    others = [float(entry.logprob) for other, entry in top.items() if other != token]
    return chosen, chosen - max(others) if others else 0.0


def _speed(llm: Any, workload: Workload, size: int) -> dict[str, Any]:
    """Seconds for one batch, once for the first token alone and once for all, `repeats` times after one unmeasured."""
    draw = random.Random(workload.seed)  # noqa: S311  (a workload, no secret)
    words = llm.llm_engine.vllm_config.model_config.get_vocab_size()
    prompts = [[draw.randrange(3, words) for _ in range(workload.input_tokens)] for _ in range(size)]
    for count in (1, workload.output_tokens):
        _timed(llm, prompts, count)
    first, whole = [], []
    for _ in range(workload.repeats):
        first.append(_timed(llm, prompts, 1))
        whole.append(_timed(llm, prompts, workload.output_tokens))
    tokens = workload.output_tokens
    return {"batch_size": size, "tokens": tokens, "first_token_seconds": first, "seconds": whole}


def _timed(llm: Any, prompts: list[list[int]], tokens: int) -> float:
    from vllm import SamplingParams, TokensPrompt  # noqa: PLC0415

    parameters = SamplingParams(temperature=0, max_tokens=tokens, ignore_eos=True, detokenize=False)
    batch = [TokensPrompt(prompt_token_ids=ids) for ids in prompts]
    llm.reset_prefix_cache()
    began = time.perf_counter()
    outputs = llm.generate(batch, parameters, use_tqdm=False)
    took = time.perf_counter() - began
    short = [len(o.outputs[0].token_ids) for o in outputs if len(o.outputs[0].token_ids) != tokens]
    if short:
        raise RuntimeError(
            f"an answer has {short[0]} tokens, and {tokens} were asked for: raise --max-model-len"
        )
    return took


if __name__ == "__main__":
    main(Workload.from_json(Path(sys.argv[1]).read_text("utf-8")), Path(sys.argv[2]))
