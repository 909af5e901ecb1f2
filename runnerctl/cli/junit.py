"""JUnit XML, as CI systems read it: suites of cases, and what was wrong with each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["junit_xml"]

# What XML 1.0 cannot hold, escaped or not: control characters, surrogates, two non-characters.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(cases: Iterable[tuple[str, str, Sequence[str]]], *, name: str = "runnerctl") -> str:
    """The document for `cases`, (suite, case, problems) in the order in which they are to stand.

    Each problem is one failure: its first line is the message, the whole of it the text.
    """
    suites: dict[str, list[tuple[str, Sequence[str]]]] = {}
    for suite, case, problems in cases:
        suites.setdefault(suite, []).append((case, problems))
    every = [case for held in suites.values() for case in held]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites name={_quoted(name)} {_counts(every)}>"]
    for suite, held in suites.items():
        lines.append(f"  <testsuite name={_quoted(suite)} {_counts(held)}>")
        for case, problems in held:
            lines.extend(_case(suite, case, problems))
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def _case(suite: str, case: str, problems: Sequence[str]) -> list[str]:
    head = f"    <testcase classname={_quoted(suite)} name={_quoted(case)}"
    if not problems:
        return [f"{head}/>"]
    failures = [
        f"      <failure message={_quoted(problem.partition(chr(10))[0])}>{_escaped(problem)}</failure>"
        for problem in problems
    ]
    return [f"{head}>", *failures, "    </testcase>"]


def _counts(cases: Sequence[tuple[str, Sequence[str]]]) -> str:
    return f'tests="{len(cases)}" failures="{sum(bool(problems) for _, problems in cases)}" errors="0"'


def _escaped(text: str) -> str:
    clean = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _quoted(text: str) -> str:
    """An attribute's value. Line ends are written out: a reader would turn them into blanks."""
    whole = _escaped(text).replace('"', "&quot;")
    return '"' + whole.replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;") + '"'
