"""Findings that an old repository has already: taken away from a run, so that only new ones fail it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from policy.input_error import InputError
from policy.lint.finding import Finding

__all__ = ["BaselineError", "baseline_text", "fingerprints", "read_baseline", "without_known"]

KIND = "LintBaseline"


class BaselineError(InputError):
    """A baseline file that is none."""


def fingerprints(findings: Sequence[Finding], lines: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """What stays the same of each finding when lines move: file, rule, message and the text of its line.

    Equal ones are numbered in their order, so that each has a mark of its own.
    """
    seen: Counter[str] = Counter()
    found = []
    for finding in findings:
        span, held = finding.span, lines.get(finding.span.path, ())
        line = held[span.line - 1].strip() if 0 < span.line <= len(held) else ""
        plain = "\0".join((span.path.replace("\\", "/"), finding.code, finding.message, line))
        seen[plain] += 1
        found.append(
            hashlib.sha256(f"{plain}\0{seen[plain]}".encode("utf-8", "surrogatepass")).hexdigest()[:20]
        )
    return tuple(found)


def baseline_text(findings: Sequence[Finding], lines: Mapping[str, Sequence[str]]) -> str:
    """The baseline of these findings: for people a file and a message beside each mark, in the order of findings."""
    entries = [
        {"fingerprint": mark, "code": finding.code, "path": finding.span.path, "message": finding.message}
        for finding, mark in zip(findings, fingerprints(findings, lines), strict=True)
    ]
    document = {"apiVersion": "runnerctl/v1", "kind": KIND, "findings": entries}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def read_baseline(name: str, text: str) -> frozenset[str]:
    """The marks of a baseline. Raises `BaselineError`."""
    try:
        document: Any = json.loads(text)
        if document["kind"] != KIND:
            raise BaselineError(f"{name}: not a baseline of lint; `--write-baseline` writes one")
        return frozenset(str(entry["fingerprint"]) for entry in document["findings"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        if isinstance(error, BaselineError):
            raise
        raise BaselineError(f"{name}: not a baseline of lint; `--write-baseline` writes one") from error


def without_known(
    findings: Sequence[Finding], lines: Mapping[str, Sequence[str]], known: frozenset[str]
) -> tuple[tuple[Finding, ...], int]:
    """The findings that the baseline does not hold, and how many of the baseline occur no longer."""
    marks = fingerprints(findings, lines)
    left = tuple(finding for finding, mark in zip(findings, marks, strict=True) if mark not in known)
    return left, len(known - set(marks))
