"""`runnerctl attest`: exit 0 where every process did what was decided, 4 where not, 2 where there is nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runnerctl.attestation.record import Record, append_record

Cli = Callable[..., Any]

BASE = Record(
    "front-end",
    "v1",
    "v1",
    "need-v1",
    "rule `need-v1` (p.yaml:5:3)",
    "0",
    "sha256:1",
    "0.23.0",
    pid=10,
    host="h",
)


def engine(pid: int = 11, **changes: Any) -> Record:
    return replace(BASE, role="engine-core", pid=pid, **changes)


def worker(rank: int = 0, **changes: Any) -> Record:
    return replace(BASE, **{"role": "worker", "pid": 20 + rank, "rank": rank, "module": "vllm.v1", **changes})


# records -> (exit code, parts of the problems)
LAUNCHES: dict[str, tuple[list[Record], int, list[str]]] = {
    "all as decided": ([BASE, engine(), worker()], 0, []),
    "two workers": ([replace(BASE, world_size=2), engine(), worker(0), worker(1)], 0, []),
    "one process for all": ([BASE, engine(10), worker(0, pid=10)], 0, []),
    "wrong runner": ([BASE, engine(), worker(runner="v2")], 4, ["worker 0 (pid 20 on h) used v2, vllm.v1"]),
    "wrong engine core": ([BASE, engine(runner="v2"), worker()], 4, ["engine-core (pid 11 on h) used v2"]),
    "no worker": ([BASE, engine()], 4, ["1 workers should be there, and 0"]),
    "a worker is missing": ([replace(BASE, world_size=2), engine(), worker()], 4, ["2 workers", "and 1"]),
    "no engine core": ([BASE, worker()], 4, ["1 engine core"]),
    "no front end": ([engine(), worker()], 4, ["no front end"]),
    "different decisions": ([BASE, engine(decided="v2", runner="v2"), worker()], 4, ["different decisions"]),
    "different policies": ([BASE, engine(policy="sha256:2"), worker()], 4, ["different compiled policies"]),
}


@pytest.mark.parametrize("case", LAUNCHES)
def test_launch(cli: Cli, tmp_path: Path, case: str) -> None:
    records, code, parts = LAUNCHES[case]
    for record in records:
        append_record(tmp_path, record)
    text = cli("attest", tmp_path)
    assert (text.code, text.err) == (code, "")
    data = cli("attest", tmp_path, "--format", "json")
    assert data.code == code
    assert data.json["ok"] is (code == 0)
    assert len(data.json["records"]) == len(records)
    assert bool(data.json["problems"]) is bool(parts)
    for part in parts:
        assert part in " ".join(data.json["problems"])
        assert part in text.out


def _write(folder: Path, raw: bytes) -> None:
    (folder / "attestation-x.jsonl").write_bytes(raw)


NOTHING: dict[str, tuple[bytes | None, str]] = {
    "empty folder": (None, "no attestation record"),
    "empty file": (b"\n", "no attestation record"),
    "no JSON": (b"\nnonsense\n", "x.jsonl:2: not an attestation record"),
    "a list": (b"[1]\n", "x.jsonl:1: not an attestation record"),
    "half a record": (b'{"role": "worker"}\n', "x.jsonl:1: not an attestation record"),
    "torn": (b'{"role": "wor', "x.jsonl:1: not an attestation record"),
    "binary": (b"\xff\xfe", "x.jsonl: cannot be read"),
}


@pytest.mark.parametrize("case", NOTHING)
def test_nothing_to_check(cli: Cli, tmp_path: Path, case: str) -> None:
    raw, part = NOTHING[case]
    if raw is not None:
        _write(tmp_path, raw)
    answer = cli("attest", tmp_path)
    assert (answer.code, answer.out) == (2, "")
    assert part in answer.err


def test_no_such_folder(cli: Cli, tmp_path: Path) -> None:
    answer = cli("attest", tmp_path / "missing")
    assert (answer.code, answer.out) == (2, "")
    assert "no such folder" in answer.err


def test_record_of_wrong_types(cli: Cli, tmp_path: Path) -> None:
    append_record(tmp_path, replace(BASE, runner=2))  # type: ignore[arg-type]
    assert cli("attest", tmp_path).code == 2
