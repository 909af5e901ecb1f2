"""Outputs of lint: each is valid for those who read it, whatever a policy holds, and says the same findings."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.document.schema import load_schema
from policy.lint.finding import Edit, Finding, Fix, Related, Span
from policy.lint.registry import find_rule, rules
from runnerctl.reporters.github import github
from runnerctl.reporters.json_ import json_text
from runnerctl.reporters.junit import junit
from runnerctl.reporters.report import Report
from runnerctl.reporters.sarif import sarif
from runnerctl.reporters.text import summary, text

LINES = {
    "configs/a b.yaml": ["rules:", '  - id: "größe"', "\tx: 漢字 # tab", "x" * 300],
    "b.yaml": ["apiVersion: runnerctl/v1"],
}


def finding(code: str, span: Span, message: str = "something is `wrong`", **more: Any) -> Finding:
    return find_rule(code).finding(span, message, **more)


FIX = Fix("write `b`", (Edit(Span("configs/a b.yaml", 2, 9, 16), "b"), Edit(Span("b.yaml", 1, 1, 11), "x")))
FINDINGS = (
    finding(
        "RM204", Span("b.yaml", 1, 1, 11), related=[Related(Span("configs/a b.yaml", 2, 9, 16), "the other")]
    ),
    finding("RD101", Span("missing, or 100% gone.yaml"), "cannot be read"),
    finding("RE305", Span("configs/a b.yaml", 2, 9, 16), help="a\nb", fix=FIX),
    finding("RH402", Span("configs/a b.yaml", 3, 5, 7), "::error::50%, of two\r\nlines"),
    finding("RH401", Span("configs/a b.yaml", 4, 200, 203)),
)
REPORT = Report(FINDINGS, LINES, checked=3, version="1.2.3", known=2, fixed=1)
EMPTY = Report((), {}, checked=1, version="1.2.3")


@functools.cache
def sarif_validator() -> Any:
    """OASIS's own schema of SARIF 2.1.0, formats checked."""
    path = Path(__file__).parent / "data" / "sarif-schema-2.1.0.json"
    schema = json.loads(path.read_text("utf-8"))
    return jsonschema.Draft4Validator(schema, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER)


@pytest.mark.parametrize("report", [REPORT, EMPTY], ids=["findings", "none"])
def test_sarif_is_valid(report: Report) -> None:
    assert list(sarif_validator().iter_errors(json.loads(sarif(report)))) == []


def test_the_schema_of_sarif_refuses_what_is_wrong() -> None:
    document = json.loads(sarif(REPORT))
    document["runs"][0]["results"][0]["level"] = "fatal"
    document["runs"][0]["tool"]["driver"]["rule"] = []
    assert len(list(sarif_validator().iter_errors(document))) == 2


def test_sarif_says_the_findings() -> None:
    (run,) = json.loads(sarif(REPORT))["runs"]
    results, listed = run["results"], run["tool"]["driver"]["rules"]
    assert [r["ruleId"] for r in results] == [f.code for f in FINDINGS]
    assert all(listed[r["ruleIndex"]]["id"] == r["ruleId"] for r in results)
    places = [r["locations"][0]["physicalLocation"] for r in results]
    assert unquote(places[2]["artifactLocation"]["uri"]) == "configs/a b.yaml"
    assert "region" not in places[1]
    assert places[2]["region"] == {"startLine": 2, "startColumn": 9, "endLine": 2, "endColumn": 16}
    changes = results[2]["fixes"][0]["artifactChanges"]
    assert [unquote(c["artifactLocation"]["uri"]) for c in changes] == ["b.yaml", "configs/a b.yaml"]
    assert len({r["partialFingerprints"]["runnerctl/v1"] for r in results}) == len(results)


@pytest.mark.parametrize("report", [REPORT, EMPTY], ids=["findings", "none"])
def test_json_fits_its_schema(report: Report) -> None:
    document = json.loads(json_text(report))
    jsonschema.Draft202012Validator(load_schema("lint")).validate(document)
    assert [f["code"] for f in document["findings"]] == [f.code for f in report.findings]


def test_json_says_where() -> None:
    document = json.loads(json_text(REPORT))
    assert document["summary"] == {
        "files": 3,
        "errors": 2,
        "warnings": 2,
        "notes": 1,
        "in_baseline": 2,
        "fixed": 1,
    }
    assert document["findings"][1]["location"] == {
        "path": "missing, or 100% gone.yaml",
        "line": None,
        "column": None,
        "end_column": None,
    }
    assert document["findings"][2]["fix"]["edits"][0]["text"] == "b"
    root = Path(__file__).resolve().parents[2]
    assert all((root / f["page"]).is_file() for f in document["findings"])


def test_github() -> None:
    lines = github(REPORT).splitlines()
    assert lines[0] == (
        "::error title=RM204 duplicate-id,file=b.yaml,line=1,col=1,endLine=1,endColumn=11::something is `wrong`"
    )
    assert lines[1].startswith("::error title=RD101 unreadable-file,file=missing%2C or 100%25 gone.yaml::")
    assert lines[2].endswith("::something is `wrong`%0Aa%0Ab")
    assert lines[3].endswith(",endLine=3,endColumn=7::::error::50%25, of two%0D%0Alines")
    assert lines[3].startswith("::notice ")
    assert len(lines) == len(FINDINGS)


def test_junit() -> None:
    root = ElementTree.fromstring(junit(REPORT).encode())  # noqa: S314  (our own text)
    assert (root.attrib["tests"], root.attrib["failures"]) == ("4", "4")
    assert "RH402" not in junit(REPORT), "a note is no failure"
    assert next(case.attrib["name"] for case in root.iter("testcase")) == "RM204 duplicate-id"
    clean = ElementTree.fromstring(junit(EMPTY).encode())  # noqa: S314
    assert (clean.attrib["tests"], clean.attrib["failures"]) == ("1", "0")


TEXT = """\
b.yaml:1:1: error[RM204] something is `wrong` (duplicate-id)
  1 | apiVersion: runnerctl/v1
    | ^^^^^^^^^^
  configs/a b.yaml:2:9: the other
missing, or 100% gone.yaml: error[RD101] cannot be read (unreadable-file)
configs/a b.yaml:2:9: warning[RE305] something is `wrong` (release-gap)
  2 |   - id: "größe"
    |         ^^^^^^^
  help: a\\x0ab
  fix:  write `b` (--fix)
configs/a b.yaml:3:5: note[RH402] ::error::50%, of two\\x0d\\x0alines (expires-soon)
  3 | \tx: 漢字 # tab
    | \t   ^^^^
configs/a b.yaml:4:200: warning[RH401] something is `wrong` (expired)
"""


def test_text() -> None:
    shown = text(REPORT, colour=False)
    *head, excerpt, carets = shown.splitlines()
    assert "\n".join(head) + "\n" == TEXT
    assert re.fullmatch(r"  4 \| x{120}", excerpt), "a long line is cut around the place"
    assert carets == f"    | {' ' * 60}^^^"
    assert text(EMPTY, colour=False) == ""


def test_summary() -> None:
    assert summary(REPORT) == "3 files checked: 2 errors, 2 warnings, 1 note, 2 in the baseline, 1 fixed"
    assert summary(EMPTY) == "1 file checked: no finding"


def test_colour_changes_nothing_but_colour() -> None:
    coloured = text(REPORT, colour=True)
    assert "\x1b[31merror[RM204]\x1b[0m" in coloured
    assert re.sub(r"\x1b\[\d*m", "", coloured) == text(REPORT, colour=False)


any_span = st.builds(
    Span, st.text(min_size=1, max_size=8), st.integers(1, 4), st.integers(1, 9), st.integers(10, 12)
)
any_finding = st.builds(
    lambda rule, span, message, help_: rule.finding(span, message, help_),
    st.sampled_from(rules()),
    any_span,
    st.text(max_size=20),
    st.text(max_size=20),
)


@settings(max_examples=50)
@given(st.lists(any_finding, max_size=3), st.lists(st.text(max_size=20), max_size=4))
def test_any_text_can_be_reported(found: list[Finding], lines: list[str]) -> None:
    report = Report(found, {f.span.path: lines for f in found}, 1, "1.2.3")
    ElementTree.fromstring(junit(report).encode("utf-8", "replace"))  # noqa: S314
    assert len(github(report).splitlines()) >= len(found)
    assert len([line for line in github(report).split("\n") if line]) == len(found)
    assert [f["message"] for f in json.loads(json_text(report))["findings"]] == [f.message for f in found]
    assert "\x1b" not in text(report, colour=False)
    assert len(json.loads(sarif(report))["runs"][0]["results"]) == len(found)


SECRET = "hunter2-of-ours"
# A line, what is marked in it, and both as they are shown.
SECRETS: dict[str, tuple[str, str, str, str]] = {
    "in a flow mapping": (
        f"env: {{HF_TOKEN: {SECRET}, A: b}}", SECRET, "env: {HF_TOKEN: ****, A: b}", "****"
    ),
    "without blanks": (f'env: {{"HF_TOKEN":"{SECRET}"}}', f'"{SECRET}"', 'env: {"HF_TOKEN":****}', "****"),
    "in a block": (f"  HF_TOKEN: {SECRET}, too", "HF_TOKEN", "  HF_TOKEN: ****", "HF_TOKEN"),
    "in quotes": (f"  API_KEY: '{SECRET}''s' # x", "# x", "  API_KEY: **** # x", "# x"),
    "with a tag": (f"  API_KEY: !!str {SECRET}", SECRET, "  API_KEY: ****", "****"),
    "without an end": (f'  API_KEY: "{SECRET}', f'"{SECRET}', "  API_KEY: ****", "****"),
    "two of them": (
        f"e: {{A_TOKEN: {SECRET}, B_TOKEN: {SECRET}}} # end", "# end", "e: {A_TOKEN: ****, B_TOKEN: ****} # end", "# end"
    ),
    "in a condition": (f"match: {{env.HF_TOKEN: {SECRET}, x: y}}", "x: y", "match: {env.HF_TOKEN: ****, x: y}", "x: y"),
    "in an address": (f"  PROXY: http://me:{SECRET}@host", "PROXY", "  PROXY: ****", "PROXY"),
    "none": ("  tokenizer: auto # of MAX_TOKENS: 3", "auto", "  tokenizer: auto # of MAX_TOKENS: 3", "auto"),
}  # fmt: skip


@pytest.mark.parametrize("case", SECRETS)
def test_no_output_holds_a_secret(case: str) -> None:
    line, marked, shown, shown_marked = SECRETS[case]
    column = line.index(marked) + 1
    found = (
        finding("RE315", Span("p.yaml", 1, column, column + len(marked)), "the value looks like a secret"),
    )
    report = Report(found, {"p.yaml": [line]}, 1, "1.2.3")
    outputs = [text(report, colour=False), sarif(report), json_text(report), github(report), junit(report)]
    assert not any(SECRET in output for output in outputs)
    _, excerpt, carets, *_ = outputs[0].splitlines()
    assert excerpt == f"  1 | {shown}"
    at = carets.index("^")
    assert excerpt[at : at + carets.count("^")] == shown_marked
