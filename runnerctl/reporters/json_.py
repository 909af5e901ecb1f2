"""For programs: `schemas/lint.schema.json`."""

from __future__ import annotations

import json
from typing import Any

from policy.lint.finding import Edit, Finding, Span
from runnerctl.reporters.report import Report

__all__ = ["json_text"]


def json_text(report: Report) -> str:
    document = {
        "apiVersion": "runnerctl/v1",
        "kind": "LintReport",
        "runnerctl": report.version,
        "summary": {
            "files": report.checked,
            "errors": report.number("error"),
            "warnings": report.number("warning"),
            "notes": report.number("note"),
            "in_baseline": report.known,
            "fixed": report.fixed,
        },
        "findings": [_finding(finding) for finding in report.findings],
    }
    return json.dumps(document, indent=2) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    fix = finding.fix
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "message": finding.message,
        "location": _place(finding.span),
        "help": finding.help or None,
        "related": [{"location": _place(r.span), "message": r.message} for r in finding.related],
        "fix": None
        if fix is None
        else {"title": fix.title, "safe": fix.safe, "edits": [_edit(edit) for edit in fix.edits]},
        "page": finding.page,
    }


def _place(span: Span) -> dict[str, Any]:
    return {
        "path": span.path,
        "line": span.line or None,
        "column": span.column or None,
        "end_column": span.end_column or None,
    }


def _edit(edit: Edit) -> dict[str, Any]:
    return {"location": _place(edit.span), "text": edit.text}
