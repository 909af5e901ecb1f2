"""JUnit: one suite a file, one case a rule that found something there."""

from __future__ import annotations

from policy.lint.finding import Finding
from runnerctl.cli.junit import junit_xml
from runnerctl.reporters.report import Report

__all__ = ["junit"]


def junit(report: Report) -> str:
    """Notes are no failures: they stand in no case. Files without findings are one case that passes."""
    cases: dict[tuple[str, str], list[str]] = {}
    for finding in report.findings:
        if finding.severity != "note":
            key = (finding.span.path, f"{finding.code} {finding.name}")
            cases.setdefault(key, []).append(_problem(finding))
    listed = [(suite, case, problems) for (suite, case), problems in cases.items()]
    return junit_xml(listed or [("lint", f"{report.checked} files", [])], name="runnerctl lint")


def _problem(finding: Finding) -> str:
    text = f"{finding.span}: {finding.message}"
    return f"{text}\nhelp: {finding.help}" if finding.help else text
