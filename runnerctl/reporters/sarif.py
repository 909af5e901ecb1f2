"""SARIF 2.1.0, which code scanning of GitHub, GitLab and others reads."""

from __future__ import annotations

import json
import os
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from policy.lint.baseline import fingerprints
from policy.lint.finding import Edit, Finding, Fix, Span
from policy.lint.registry import find_rule
from runnerctl.reporters.report import Report

__all__ = ["sarif"]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(report: Report) -> str:
    """One run with the rules that found something. Paths are relative to the folder of the run."""
    codes = sorted({finding.code for finding in report.findings})
    prints = fingerprints(report.findings, report.lines)
    run = {
        "tool": {
            "driver": {
                "name": "runnerctl lint",
                "semanticVersion": report.version,
                "rules": [_rule(code) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(finding, codes.index(finding.code), mark)
            for finding, mark in zip(report.findings, prints, strict=True)
        ],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: str) -> dict[str, Any]:
    rule = find_rule(code)
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "help": {"text": rule.page, "markdown": rule.page},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"tags": [rule.family]},
    }


def _result(finding: Finding, index: int, mark: str) -> dict[str, Any]:
    text = f"{finding.message}; {finding.help}" if finding.help else finding.message
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": text},
        "locations": [_location(finding.span)],
        "partialFingerprints": {"runnerctl/v1": mark},
    }
    if finding.related:
        result["relatedLocations"] = [
            {**_location(related.span), "message": {"text": related.message}} for related in finding.related
        ]
    if finding.fix is not None:
        result["fixes"] = [_fix(finding.fix)]
    return result


def _location(span: Span) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(span.path)}}
    if span.line:
        physical["region"] = _region(span)
    return {"physicalLocation": physical}


def _region(span: Span) -> dict[str, Any]:
    region = {"startLine": span.line, "startColumn": span.column}
    return {**region, "endLine": span.line, "endColumn": span.end_column} if span.end_column else region


def _fix(fix: Fix) -> dict[str, Any]:
    paths = sorted({edit.span.path for edit in fix.edits})
    changes = [
        {
            "artifactLocation": {"uri": _uri(path)},
            "replacements": [_replacement(edit) for edit in fix.edits if edit.span.path == path],
        }
        for path in paths
    ]
    return {"description": {"text": fix.title}, "artifactChanges": changes}


def _replacement(edit: Edit) -> dict[str, Any]:
    span = edit.span
    region = _region(span)
    if span.column == 1 and not edit.text:  # the whole line, up to the next one
        region = {"startLine": span.line, "startColumn": 1, "endLine": span.line + 1, "endColumn": 1}
    return {"deletedRegion": region, "insertedContent": {"text": edit.text}}


def _uri(path: str) -> str:
    plain = PurePath(path).as_posix()
    try:
        return quote(os.fsencode(plain))  # the bytes of the name, which need not be UTF-8
    except UnicodeEncodeError:  # a name that this locale cannot have, such as that of standard input
        return quote(plain, errors="surrogatepass")
