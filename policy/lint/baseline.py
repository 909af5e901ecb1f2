"""Findings that an old repository has already: taken away from a run, so that only new ones fail it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from policy.input_error import InputError
from policy.lint.finding import Finding

__all__ = ["Baseline", "BaselineError", "baseline_text", "fingerprints", "read_baseline", "without_known"]

KIND = "LintBaseline"
# The first version, which had no number, held each path as it was spelled on the command line.
VERSION = 2

Named = Callable[[str], str]


def _as_spelled(path: str) -> str:
    return path.replace("\\", "/")


class Baseline(NamedTuple):
    """The marks that a file holds, and what it calls the file at a path."""

    marks: frozenset[str]
    named: Named = _as_spelled


class BaselineError(InputError):
    """A baseline file that is none."""


def fingerprints(
    findings: Sequence[Finding], lines: Mapping[str, Sequence[str]], named: Named = _as_spelled
) -> tuple[str, ...]:
    """What stays the same of each finding when lines move: file, rule, message and the text of its line.

    `named` says what to call the file at a path.

    Equal ones are numbered in their order, so that each has a mark of its own.
    """
    seen: Counter[str] = Counter()
    found = []
    for finding in findings:
        span, held = finding.span, lines.get(finding.span.path, ())
        line = held[span.line - 1].strip() if 0 < span.line <= len(held) else ""
        plain = "\0".join((named(span.path), finding.code, finding.message, line))
        seen[plain] += 1
        found.append(
            hashlib.sha256(f"{plain}\0{seen[plain]}".encode("utf-8", "surrogatepass")).hexdigest()[:20]
        )
    return tuple(found)


def baseline_text(findings: Sequence[Finding], lines: Mapping[str, Sequence[str]], named: Named) -> str:
    """The baseline of these findings: for people a file and a message beside each mark, in the order of findings."""
    entries = [
        {
            "fingerprint": mark,
            "code": finding.code,
            "path": named(finding.span.path),
            "message": finding.message,
        }
        for finding, mark in zip(findings, fingerprints(findings, lines, named), strict=True)
    ]
    document = {"apiVersion": "runnerctl/v1", "kind": KIND, "version": VERSION, "findings": entries}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def read_baseline(name: str, text: str, named: Named) -> Baseline:
    """The baseline that a file holds; `named` is how its paths are written since version 2. Raises `BaselineError`."""
    try:
        document: Any = json.loads(text)
        if document["kind"] != KIND:
            raise BaselineError(f"{name}: not a baseline of lint; `--write-baseline` writes one")
        version = document.get("version", 1)
        if version not in (1, VERSION):
            raise BaselineError(
                f"{name}: version {version} of a baseline; this runnerctl reads up to {VERSION}"
            )
        marks = frozenset(str(entry["fingerprint"]) for entry in document["findings"])
        return Baseline(marks, named if version == VERSION else _as_spelled)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        if isinstance(error, BaselineError):
            raise
        raise BaselineError(f"{name}: not a baseline of lint; `--write-baseline` writes one") from error


def without_known(
    findings: Sequence[Finding], lines: Mapping[str, Sequence[str]], known: Baseline
) -> tuple[tuple[Finding, ...], int]:
    """The findings that the baseline does not hold, and how many of the baseline occur no longer."""
    marks = fingerprints(findings, lines, known.named)
    left = tuple(finding for finding, mark in zip(findings, marks, strict=True) if mark not in known.marks)
    return left, len(known.marks - set(marks))
