"""What every engine of one comparison is given to do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from policy.input_error import InputError, reason_of

__all__ = ["PROMPTS", "Workload", "WorkloadError", "read_prompts"]

# Of different lengths and kinds: prose, code, a list, another language, numbers, one word.
PROMPTS: tuple[str, ...] = (
    "The capital of France is",
    "def fibonacci(n):\n    ",
    "Once upon a time, in a village by the sea, there lived a clockmaker who",
    "List three reasons to write tests:\n1.",
    "Der schnellste Weg von Berlin nach Hamburg ist",
    "2, 3, 5, 7, 11, 13,",
    "Hello",
    "Translate to Spanish: The weather is nice today, and we are going to the beach with our friends.\n",
)


class WorkloadError(InputError):
    """Prompts or sizes that cannot be used."""


@dataclass(frozen=True, slots=True)
class Workload:
    """`prompts` (text or token ids) are answered greedily and compared. For speed, each of `batch_sizes` random
    prompts of `input_tokens` are answered with `output_tokens`, `repeats` times, from the same `seed` everywhere.
    """

    model: str
    engine_args: tuple[str, ...]
    prompts: tuple[str | tuple[int, ...], ...]
    max_tokens: int
    batch_sizes: tuple[int, ...]
    input_tokens: int
    output_tokens: int
    repeats: int
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.prompts:
            raise WorkloadError("nothing to compare: no prompt")
        sizes = {
            "--max-tokens": self.max_tokens,
            "--input-tokens": self.input_tokens,
            "--output-tokens": self.output_tokens,
            "--repeats": self.repeats,
            **{f"--batch-sizes {size}": size for size in self.batch_sizes},
        }
        for name, size in sizes.items():
            if size < 1:
                raise WorkloadError(f"{name}: must be at least 1")
        if self.output_tokens < 2 and self.batch_sizes:
            raise WorkloadError(
                "--output-tokens: must be at least 2: a time between tokens needs two of them"
            )

    def as_json(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return data

    @classmethod
    def from_json(cls, text: str) -> Workload:
        data = json.loads(text)
        prompts = tuple(tuple(p) if isinstance(p, list) else p for p in data.pop("prompts"))
        return cls(
            prompts=prompts,
            engine_args=tuple(data.pop("engine_args")),
            batch_sizes=tuple(data.pop("batch_sizes")),
            **data,
        )


def read_prompts(name: str) -> tuple[str | tuple[int, ...], ...]:
    """One prompt a line: text, or a JSON list of token ids; empty lines are skipped. Raises `WorkloadError`."""
    try:
        lines = Path(name).read_text("utf-8").splitlines()
    except OSError as error:
        raise WorkloadError(f"{name}: cannot be read: {reason_of(error)}") from error
    except UnicodeDecodeError as error:
        raise WorkloadError(f"{name}: the file is not UTF-8") from error
    found = tuple(_prompt(line, f"{name}:{n}:1") for n, line in enumerate(lines, 1) if line.strip())
    if not found:
        raise WorkloadError(f"{name}: nothing to compare: no prompt")
    return found


def _prompt(line: str, where: str) -> str | tuple[int, ...]:
    if not line.startswith("["):
        return line
    try:
        ids: Sequence[Any] = json.loads(line)
    except ValueError:
        return line  # text that begins with a bracket
    if not ids or not all(type(i) is int and i >= 0 for i in ids):
        raise WorkloadError(f"{where}: a list of token ids holds whole numbers from 0, and at least one")
    return tuple(ids)
