"""JSON lines `{"id", "vllm", "facts"}`, one deployment each; a bad line is an answer too, and the rest go on."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from policy.document.source import MAX_BYTES, Document
from policy.facts.facts import facts_from_document
from policy.input_error import InputError, reason_of
from runnerctl.cli.exits import UsageError

__all__ = ["Line", "read_lines"]

FIELDS = {"id", "vllm", "facts"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line that is not blank. `facts` are checked and hold the line's `vllm`; None where `problem` says why."""

    number: int
    id: Any
    facts: dict[str, Any] | None
    problem: str | None = None


def read_lines(name: str) -> Iterator[Line]:
    """The lines of a file, `-` being standard input, as they come. Raises `UsageError` when it cannot be read."""
    with _open(name) as stream:
        for number, text in enumerate(_bounded(stream), 1):
            if len(text) > MAX_BYTES:
                limit = f"the limit is {MAX_BYTES // 1024 // 1024} MiB"
                yield Line(number, None, None, f"line {number}: the line is too long: {limit}")
            elif text.strip():
                yield _line(number, text)


def _bounded(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines of a stream; of one that is too long only so much that this is seen, and its end."""
    while text := stream.readline(MAX_BYTES + 1):
        yield text
        while len(text) > MAX_BYTES and not text.endswith(b"\n"):
            text = stream.readline(MAX_BYTES + 1)


def _open(name: str) -> IO[bytes]:
    if name == "-":
        return sys.stdin.buffer
    try:
        return open(name, "rb")  # noqa: PTH123  (the caller closes it)
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {reason_of(error)}") from error


def _line(number: int, text: bytes) -> Line:
    try:
        entry = _DECODER.decode(text.decode("utf-8-sig" if number == 1 else "utf-8"))
    except (ValueError, RecursionError) as error:
        return Line(number, None, None, f"line {number}: not JSON: {str(error).lower()}")
    if not isinstance(entry, dict):
        return Line(number, None, None, f"line {number}: not a JSON object")
    try:
        return Line(number, entry.get("id"), _facts(entry))
    except (InputError, ValueError, RecursionError) as error:  # lone surrogates, labels 500 levels deep
        problem = f"line {number}: " + "; ".join(str(error).splitlines())
        return Line(number, entry.get("id"), None, problem)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text} is larger than any number")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key `{twice}` stands twice")
    return found


# `json.loads` would make one for each line.
_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique)


def _facts(entry: dict[str, Any]) -> dict[str, Any]:
    if wrong := entry.keys() - FIELDS:
        raise UsageError(f"unknown field `{min(wrong)}`; a line is {{id, vllm, facts}}")
    facts = entry.get("facts", {})
    if not isinstance(facts, dict):
        raise UsageError("`facts` is not a mapping")
    version = entry.get("vllm")
    if version is None:
        return facts_from_document(Document.unmarked("facts", facts))
    if not isinstance(version, str):
        raise UsageError(f"`vllm` is {json.dumps(version)}, not a string; quote it")
    return facts_from_document(Document.unmarked("facts", {**facts, "vllm": version}))
