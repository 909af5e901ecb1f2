"""Annotations of GitHub Actions: workflow commands on standard output."""

from __future__ import annotations

from policy.lint.finding import Finding, Severity
from runnerctl.reporters.report import Report

__all__ = ["github"]

_COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "notice"}


def github(report: Report) -> str:
    """One command a finding. What would end a command, or begin another, is escaped."""
    return "".join(_command(finding) + "\n" for finding in report.findings)


def _command(finding: Finding) -> str:
    span = finding.span
    properties = {"title": f"{finding.code} {finding.name}", "file": span.path}
    if span.line:
        properties |= {"line": str(span.line), "col": str(span.column)}
    if span.end_column:
        properties |= {"endLine": str(span.line), "endColumn": str(span.end_column)}
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    message = finding.message + (f"\n{finding.help}" if finding.help else "")
    return f"::{_COMMANDS[finding.severity]} {written}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
