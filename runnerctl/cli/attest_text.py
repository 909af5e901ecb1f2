"""The attestation report as text."""

from __future__ import annotations

from runnerctl.attestation.report import Report

__all__ = ["report_text"]


def report_text(report: Report) -> str:
    """One line a record, then what is wrong."""
    rows = [("process", "rank", "pid", "runner", "decided", "module")]
    rows.extend(
        (
            record.role,
            "" if record.rank is None else str(record.rank),
            str(record.pid),
            record.runner,
            record.decided if record.agrees else f"{record.decided} (!)",
            record.module or "",
        )
        for record in report.records
    )
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    first = report.records[0]
    lines.append(f"decided {first.decided} by {first.who}, vLLM {first.vllm}")
    lines.extend(f"problem: {problem}" for problem in report.problems)
    return "\n".join(lines) + "\n"
