"""A parity report in a few lines, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["parity_text"]


def parity_text(report: Mapping[str, Any]) -> str:
    """The verdict first, then each finding, or the figures where there is only one runner."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"{report['verdict']['text']} (vLLM {report['vllm']}, {report['machine']['device']})"
    for runner, why in report["skipped"].items():
        yield f"not measured  {runner}: {why}"
    for finding in report["findings"]:
        yield f"{finding['verdict'].ljust(12)}  {finding['what'].replace('_', ' ')}: {finding['why']}"
    if report["findings"]:
        return
    for runner, by in report["figures"].items():
        for name, sizes in by.items():
            for size, spread in sizes.items():
                at = "" if size == "-" else f" at {size}"
                low, high = f"{spread['low']:.4g}", f"{spread['high']:.4g}"
                yield f"{runner.ljust(12)}  {name.replace('_', ' ')}{at}: {spread['median']:.4g} ({low} to {high})"
