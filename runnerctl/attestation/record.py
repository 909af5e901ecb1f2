"""Attestation records: one JSON line a process and role, in one file a process."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from policy.input_error import InputError

__all__ = ["Record", "RecordError", "append_record", "read_records", "record_files"]

PREFIX = "attestation-"


class RecordError(InputError):
    """A record file that does not hold records; the message names file and line."""


@dataclass(frozen=True, slots=True)
class Record:
    """Which runner one process used. `module` is where a worker's runner class lives."""

    role: str
    runner: str
    decided: str
    rule: str | None
    who: str
    switch: str | None
    policy: str
    vllm: str
    rank: int | None = None
    data_parallel_rank: int | None = None
    module: str | None = None
    world_size: int | None = None
    data_parallel_size: int | None = None
    pid: int = field(default_factory=os.getpid)
    host: str = field(default_factory=socket.gethostname)
    time: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))

    @property
    def agrees(self) -> bool:
        return self.runner == self.decided


def append_record(folder: Path, record: Record) -> None:
    """Append one line to this process's own file. One write to a file opened for appending: never torn."""
    folder.mkdir(parents=True, exist_ok=True)
    line = json.dumps(asdict(record), sort_keys=True) + "\n"
    descriptor = os.open(
        folder / f"{PREFIX}{record.host}-{record.pid}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644
    )
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def record_files(folder: Path) -> list[Path]:
    """The files of records in a folder; whatever else lies there is somebody else's."""
    return sorted(path for path in folder.glob(f"{PREFIX}*.jsonl") if path.is_file())


def read_records(folder: Path) -> Iterator[Record]:
    """Every record of a folder, by file name. Raises `RecordError`."""
    for path in record_files(folder):
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise RecordError(f"{path}: cannot be read: {error}") from error
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield _record(line, f"{path}:{number}")


def _record(line: str, where: str) -> Record:
    try:
        data: dict[str, Any] = json.loads(line)
        known = {f.name for f in fields(Record)}
        record = Record(**{k: v for k, v in data.items() if k in known})
        texts = (
            record.role,
            record.runner,
            record.decided,
            record.who,
            record.policy,
            record.vllm,
            record.host,
        )
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("a text is something else")
        numbers = (
            record.pid,
            record.rank,
            record.data_parallel_rank,
            record.world_size,
            record.data_parallel_size,
        )
        if not all(number is None or type(number) is int for number in numbers):
            raise TypeError("a number is something else")
        return record
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise RecordError(f"{where}: not an attestation record") from error
