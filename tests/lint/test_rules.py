"""Each rule of lint: its page, its examples and what lint says of them are what its docstring says.

After a change of a rule, `python tools/lint_pages.py` writes all of them anew.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import policy.lint.rules
from policy.analysis import Analysis, Cut
from policy.document.source import MAX_BYTES, Source
from policy.engine import Catalog
from policy.lint.reading import read
from policy.lint.registry import FAMILIES, Rule, Selection, by_name, checks, find_rule, rules
from policy.lint.subject import Subject
from tools.lint_pages import CASES, MADE, PAGES, TODAY, failing, inputs, output, pages, stem

ROOT = Path(__file__).resolve().parents[2]
RULES = pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.name)
DIAGNOSED = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")


def test_every_file_of_rules_is_registered_once() -> None:
    folder = Path(policy.lint.rules.__file__).parent
    stems = sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")
    checked = (*policy.lint.rules.CHECKED, *policy.lint.rules.ANALYSED)
    assert stems == sorted((*checked, *policy.lint.rules.READ))
    assert {stem(rule) for rule, _ in checks()} == set(checked)
    for name in checked:
        analysed = "subject.analysis" in (folder / f"{name}.py").read_text("utf-8")
        assert analysed is (name in policy.lint.rules.ANALYSED)
    for name in policy.lint.rules.READ:
        assert "def check(" not in (folder / f"{name}.py").read_text("utf-8")
    assert sorted(map(stem, rules())) == stems
    assert len({rule.code for rule in rules()}) == len(stems)


@RULES
def test_what_a_rule_says_of_itself(rule: Rule) -> None:
    assert re.fullmatch(r"R[DMEH]\d{3}", rule.code)
    assert rule.code[:3] in FAMILIES
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert rule.summary[0] != rule.summary[0].upper() or rule.summary.startswith(("V", "YAML"))
    assert not rule.summary.endswith(".")
    assert len(rule.page) > 200, "say what and why"
    assert not rule.unread or rule.code.startswith("RD1")


def test_pages_are_the_docstrings() -> None:
    assert {path: path.read_text("utf-8") for path, _ in pages()} == dict(pages()), "tools/lint_pages.py"


def test_there_is_no_page_and_no_case_of_a_rule_that_is_gone() -> None:
    names = {f"{rule.name}.md" for rule in rules()} | {"README.md"}
    assert {path.name for path in PAGES.iterdir()} == names
    folders = {path.name for path in CASES.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders - {"data"} == {stem(rule) for rule in rules()}


def test_examples_are_those_of_the_pages() -> None:
    assert {path: path.read_text("utf-8") for path, _ in inputs()} == dict(inputs()), "tools/lint_pages.py"


@RULES
def test_the_failing_example(rule: Rule) -> None:
    folder = CASES / stem(rule)
    if stem(rule) in MADE:
        pytest.skip(MADE[stem(rule)])
    code, out = output(folder, rule, failing(rule))
    assert out == (folder / "fail.out").read_text("utf-8"), "tools/lint_pages.py"
    assert f"[{rule.code}]" in out
    assert code == (2 if rule.unread else 0 if rule.severity == "note" else 1)


@RULES
def test_the_passing_example(rule: Rule) -> None:
    words = sorted(path.name for path in (CASES / stem(rule)).glob("pass*.yaml"))
    assert words
    assert output(CASES / stem(rule), rule, words) == (0, "")


def test_a_file_that_is_too_large(cli: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    answer = cli("lint", path, "--today", TODAY)
    assert answer.code == 2
    assert "error[RD103] the file is too large: the limit is 8 MiB" in answer.out


def test_an_analysis_that_was_cut() -> None:
    source = Source("p.yaml", (CASES / "analysis_cut" / "pass.yaml").read_text("utf-8"))
    done = read([source])
    subject = Subject(done.files, done.policies, Catalog(), date.fromisoformat(TODAY))
    cut = Cut("conflicts", "too many rules overlap", ("llama",))
    vars(subject)["analysis"] = Analysis(cut=(cut, Cut("engine", "too many releases")))
    check = next(check for rule, check in checks() if rule.name == "analysis-cut")
    assert [(f.code, str(f.span), f.message) for f in check(subject)] == [
        ("RM214", "p.yaml:5:9", "the analysis of `llama` was cut (conflicts): too many rules overlap"),
        ("RM214", "p.yaml:4:1", "the analysis was cut (engine): too many releases"),
    ]


def used_codes() -> set[str]:
    """Every code that reading a policy gives to a `Diagnostic`: the word in second place of its calls."""
    found = set()
    for folder in ("document", "rules", "facts"):
        for path in sorted((ROOT / "policy" / folder).glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call):
                    found |= {
                        a.value
                        for a in node.args[1:3]
                        if isinstance(a, ast.Constant)
                        and isinstance(a.value, str)
                        and DIAGNOSED.fullmatch(a.value)
                    }
    return found - {"utf-8", "utf-8-sig", "engine-release", "compiled-policy"}


def test_every_code_of_reading_has_a_rule() -> None:
    """Reading may not find something that lint has no word for."""
    assert used_codes() > {"unknown-fact", "duplicate-id", "yaml-syntax", "wrong-type"}
    assert used_codes() - by_name().keys() == set()


def selected(select: list[str], ignore: list[str]) -> set[str]:
    return {rule.code for rule in rules() if rule in Selection(select, ignore)}


def test_the_words_of_a_selection() -> None:
    assert find_rule("re301") is find_rule("unknown-architecture")
    stable = {rule.code for rule in rules() if rule.stage == "stable"}
    unread = {rule.code for rule in rules() if rule.unread}
    assert selected([], []) == stable
    assert selected(["ALL"], []) == {rule.code for rule in rules()}
    assert selected(["RE3"], ["RE301"]) == {c for c in stable if c.startswith("RE3")} - {"RE301"} | unread
    assert selected(["hygiene"], []) >= {"RH401", "RH414"}
    assert selected(["expired"], ["document"]) == {"RH401"} | unread
