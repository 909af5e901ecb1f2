"""JUnit XML is well formed whatever the text, and counts what it holds."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runnerctl.cli.junit import junit_xml

CASES = [
    ("b.yaml", "one", []),
    ("a.yaml", "two", ["runner is v1, expected v2", "rule is `a`\nexpected `b`"]),
    ("b.yaml", "three", ["<&>\"'"]),
]


def test_counts_and_order() -> None:
    root = ElementTree.fromstring(junit_xml(CASES))  # noqa: S314  (our own text)
    assert root.attrib == {"name": "runnerctl", "tests": "3", "failures": "2", "errors": "0"}
    suites = [(s.attrib["name"], s.attrib["tests"], s.attrib["failures"]) for s in root]
    assert suites == [("b.yaml", "2", "1"), ("a.yaml", "1", "1")]


def test_a_case_holds_each_of_its_problems() -> None:
    root = ElementTree.fromstring(junit_xml(CASES))  # noqa: S314
    case = next(c for c in root.iter("testcase") if c.attrib["name"] == "two")
    assert case.attrib["classname"] == "a.yaml"
    assert [(f.attrib["message"], f.text) for f in case] == [
        ("runner is v1, expected v2", "runner is v1, expected v2"),
        ("rule is `a`", "rule is `a`\nexpected `b`"),
    ]


@pytest.mark.parametrize("cases", [[], [("s", "c", [])]], ids=["none", "one that passes"])
def test_without_failures(cases: list[tuple[str, str, list[str]]]) -> None:
    root = ElementTree.fromstring(junit_xml(cases))  # noqa: S314
    assert (root.attrib["tests"], root.attrib["failures"]) == (str(len(cases)), "0")


@given(st.text(), st.text(), st.lists(st.text(), max_size=2))
def test_any_text_is_well_formed(suite: str, case: str, problems: list[str]) -> None:
    root = ElementTree.fromstring(junit_xml([(suite, case, problems)]).encode("utf-8"))  # noqa: S314
    assert len(list(root.iter("failure"))) == len(problems)
