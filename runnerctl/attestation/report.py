"""Compares what the processes of one launch used with what they were told, and with who should be there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from runnerctl.attestation.record import Record

__all__ = ["Report", "report_on"]


@dataclass(frozen=True, slots=True)
class Report:
    """`problems` is empty when every process that should be there is, and used the runner that was decided."""

    records: tuple[Record, ...]
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "records": [asdict(r) for r in self.records],
            "problems": list(self.problems),
        }


def report_on(records: Sequence[Record]) -> Report:
    """The report on one launch's records, of which there is at least one."""
    problems = [_difference(r) for r in records if not r.agrees]
    if len({r.decided for r in records}) > 1:
        problems.append("processes were held to different decisions: " + ", ".join(_decisions(records)))
    if len({r.policy for r in records}) > 1:
        problems.append("processes read different compiled policies")
    problems.extend(_missing(records))
    return Report(tuple(records), tuple(problems))


def _difference(record: Record) -> str:
    where = f", {record.module}" if record.module else ""
    return f"{_name(record)} used {record.runner}{where}, and {record.who} decided {record.decided}"


def _name(record: Record) -> str:
    rank = f" {record.rank}" if record.rank is not None else ""
    return f"{record.role}{rank} (pid {record.pid} on {record.host})"


def _decisions(records: Sequence[Record]) -> list[str]:
    return sorted({f"{r.decided} by {r.who}" for r in records})


def _missing(records: Sequence[Record]) -> list[str]:
    """The processes that the front end's config promises and that left no record."""
    fronts = [r for r in records if r.role == "front-end"]
    if not fronts:
        return ["no front end left a record"]
    # One process may build several engines, one after the other; several API servers may serve one engine.
    engines = max(sum(r.data_parallel_size or 1 for r in own) for own in _by_process(fronts))
    workers = max(
        sum((r.world_size or 1) * (r.data_parallel_size or 1) for r in own) for own in _by_process(fronts)
    )
    seen_engines = [r for r in records if r.role == "engine-core"]
    seen_workers = [r for r in records if r.role == "worker"]
    problems = []
    if len(seen_engines) < engines:
        problems.append(f"{engines} engine cores should be there, and {len(seen_engines)} left a record")
    if len(seen_workers) < workers:
        problems.append(f"{workers} workers should be there, and {len(seen_workers)} left a record")
    world = max(r.world_size or 1 for r in fronts)
    ranks = sorted(set(range(world)) - {r.rank for r in seen_workers})
    if ranks and len(seen_workers) >= workers:
        problems.append(f"no worker of rank {', '.join(map(str, ranks))} left a record")
    return problems


def _by_process(records: Sequence[Record]) -> list[list[Record]]:
    found: dict[tuple[str, int], list[Record]] = {}
    for record in records:
        found.setdefault((record.host, record.pid), []).append(record)
    return list(found.values())
