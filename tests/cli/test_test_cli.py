"""`runnerctl test`: what passes, what fails and says why, what is measured, and nothing to check."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from policy.document.schema import load_schema

ROOT = Path(__file__).parents[2]
POLICY = """
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {{name: p}}
rules:
  - {{id: a, match: {{architectures: LlamaForCausalLM}}, runner: v1, enforce: require}}
  - {{id: b, match: {{architectures: MistralForCausalLM}}, runner: v2}}
tests:
  - name: llama
    given: {{vllm: 0.23.0, architectures: [LlamaForCausalLM]{more}}}
    expect: {expect}
"""

CASES = {
    "passes": ("", "{runner: v1, rule: a}", 0, "1 passed, 0 failed"),
    "another runner": ("", "{runner: v2}", 1, "runner is v1, expected v2 (p.yaml:11:14)"),
    "another rule": ("", "{rule: b}", 1, "rule is a, expected b (p.yaml:11:14)"),
    "why another rule": ("", "{rule: b}", 1, "architectures is [LlamaForCausalLM]; wanted MistralForCausalLM (p.yaml:7:21)"),
    "a rule that does not exist": ("", "{rule: bb}", 2, "p.yaml:11:20: no rule has the id `bb` [unknown-rule]"),
    "the nearest rule": ("", "{rule: bb}", 2, "did you mean `b`?"),
    "another variable": (
        "",
        "{env: {VLLM_USE_V2_MODEL_RUNNER: '1'}}",
        1,
        "VLLM_USE_V2_MODEL_RUNNER is 0, expected 1",
    ),
    "another status": ("", "{status: error}", 1, "status is ok, expected error"),
    "no error": ("", "{error: conflicting-rules}", 1, "error is none, expected conflicting-rules"),
    "facts that are none": (", tp: 2", "{runner: v1}", 2, "p.yaml:10:62: unknown fact `tp`"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, more: str = "", expect: str = "{runner: v1}", name: str = "p.yaml") -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(POLICY.format(more=more, expect=expect))


@pytest.mark.parametrize("case", CASES)
def test_a_test(cli: Any, folder: Path, case: str) -> None:
    more, expect, code, part = CASES[case]
    write(folder, more, expect)
    answer = cli("test", "p.yaml")
    assert answer.code == code
    assert part in (answer.err if code == 2 else answer.out)


@pytest.mark.parametrize("format_", ["text", "json"])
@pytest.mark.parametrize(("expect", "code"), [("{runner: v1}", 0), ("{runner: v2}", 1)])
def test_the_exit_code_does_not_depend_on_the_format(
    cli: Any, folder: Path, format_: str, expect: str, code: int
) -> None:
    write(folder, expect=expect)
    assert cli("test", "p.yaml", "--format", format_).code == code


# Options, and what is said where there is nothing to check.
NOTHING = {
    "no test of that name": (
        ["p.yaml", "-k", "mistral"],
        "no test whose name or rule holds `mistral` in p.yaml",
    ),
    "no test": (["empty.yaml"], "no test in empty.yaml"),
    "no rule": (["empty.yaml", "--coverage"], "no test in empty.yaml"),
    "no rule to cover": (["without_rules.yaml", "--coverage"], "no rules to cover"),
    "nothing to change": (["without_rules.yaml", "--mutation"], "nothing that could be changed"),
    "no path and no configs": ([], "no folder `configs` here"),
    "lint without changes": (["p.yaml", "--lint"], "--lint goes with --mutation"),
    "JUnit on standard output": (["p.yaml", "--junit", "-"], "is written to a file"),
}


@pytest.mark.parametrize("case", NOTHING)
def test_nothing_to_check(cli: Any, folder: Path, case: str) -> None:
    write(folder)
    head = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: e}\nrules: []\n"
    (folder / "empty.yaml").write_text(head)
    (folder / "without_rules.yaml").write_text(
        head + "tests: [{given: {vllm: 0.23.0}, expect: {layer: engine}}]\n"
    )
    words, part = NOTHING[case]
    answer = cli("test", *words)
    assert (answer.code, answer.out) == (2, "")
    assert part in answer.err


def test_a_failure_says_which_clause_and_who_decided(cli: Any, folder: Path) -> None:
    write(folder, expect="{rule: b}")
    assert cli("test", "p.yaml").out == (
        "FAIL  p.yaml:9:5  llama\n"
        "      rule is a, expected b (p.yaml:11:14)\n"
        "      rule `b` does not match: model_config.architectures is [LlamaForCausalLM]; "
        "wanted MistralForCausalLM (p.yaml:7:21)\n"
        "      decided: v1 by rule `a` (require) of policy p, p.yaml:6:5\n"
        "0 passed, 1 failed\n"
    )


SELECTED = {"llama": 1, "a": 1, "ll": 1, "": 1, "b": 0}


@pytest.mark.parametrize("text", SELECTED)
def test_selection_by_name_or_rule(cli: Any, folder: Path, text: str) -> None:
    write(folder, expect="{rule: a}")
    answer = cli("test", "p.yaml", "-v", "-k", text)
    assert answer.out.count("ok ") == SELECTED[text]
    assert answer.code == (0 if SELECTED[text] else 2)


def test_coverage(cli: Any, folder: Path) -> None:
    write(folder)
    answer = cli("test", "p.yaml", "--coverage")
    assert answer.code == 0
    assert answer.out == (
        "rule  a  decides in 1 test     p.yaml:6:5\n"
        "MISS  b  decides in no test    p.yaml:7:5\n"
        "1 of 2 rules decided in a test: 50 %\n"
        "1 passed, 0 failed\n"
    )


# Options, the exit code, and the line of the verdict.
MEASURED = {
    "enough": (["--fail-under", "50"], 0, ""),
    "too little": (
        ["--fail-under", "50.1"],
        1,
        "FAIL  rules decided in a test: 50 %, and at least 50.1 % is wanted",
    ),
    "changes": (["--mutation", "--fail-under", "90"], 1, "FAIL  changes noticed: "),
    "changes without a limit": (["--mutation"], 0, " changes noticed: "),
    "both": (["--coverage", "--mutation", "--fail-under", "99"], 1, "FAIL  rules decided"),
    "out of range": (["--fail-under", "101"], 2, "--fail-under"),
}


@pytest.mark.parametrize("case", MEASURED)
def test_fail_under(cli: Any, folder: Path, case: str) -> None:
    write(folder)
    options, code, part = MEASURED[case]
    answer = cli("test", "p.yaml", *options)
    assert answer.code == code
    assert part in answer.out + answer.err


def test_survivors_are_listed_with_their_places(cli: Any, folder: Path) -> None:
    write(folder)
    out = cli("test", "p.yaml", "--mutation").out
    assert "MISS  p.yaml:6:67  a: enforce: it becomes a `prefer`" in out
    assert "MISS  p.yaml:7:5  b: rule `b` is taken away" in out


DATED = """
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {name: p, owner: o}
rules:
  - id: a
    match: {model_config.is_moe: true, vllm: ">=0.25.dev0,<0.28.dev0"}
    runner: v1
    enforce: require
    reason: r
    links: [https://example.org]
tests:
  - {given: {vllm: 0.26.0, model_config.is_moe: true}, expect: {runner: v1, rule: a}}
"""


def test_what_lint_notices_counts_where_it_is_asked(cli: Any, folder: Path) -> None:
    """Without its end the range reaches releases that have deprecated V1: no test says so, and lint does."""
    (folder / "p.yaml").write_text(DATED)
    change = "p.yaml:7:40  a: match.vllm: `>=0.25.dev0,<0.28.dev0` becomes `>=0.25.dev0`"
    assert f"MISS  {change}\n" in cli("test", "p.yaml", "--mutation").out
    assert f"ok    {change}; noticed by lint\n" in cli("test", "p.yaml", "--mutation", "--lint", "-v").out


def test_changes_wait_for_tests_that_pass(cli: Any, folder: Path) -> None:
    write(folder, expect="{runner: v2}")
    answer = cli("test", "p.yaml", "--mutation")
    assert answer.code == 1
    assert "not measured" in answer.out


JSON = [
    [],
    ["--coverage"],
    ["--mutation"],
    ["--coverage", "--mutation", "--fail-under", "100"],
]


@pytest.mark.parametrize("options", JSON, ids=" ".join)
@pytest.mark.parametrize("expect", ["{runner: v1}", "{rule: b, env: {A: b}}"])
def test_json_fits_its_schema(cli: Any, folder: Path, options: list[str], expect: str) -> None:
    write(folder, expect=expect)
    report = cli("test", "p.yaml", "--format", "json", *options).json
    jsonschema.validate(report, load_schema("test-report"), jsonschema.Draft202012Validator)
    jsonschema.validate(
        report["tests"][0]["decision"], load_schema("decision"), jsonschema.Draft202012Validator
    )
    assert (report["coverage"] is not None) == ("--coverage" in options)


def test_json_says_what_is_unmet(cli: Any, folder: Path) -> None:
    write(folder, expect="{rule: b}")
    (test,) = cli("test", "p.yaml", "--format", "json").json["tests"]
    assert test["unmet"] == [
        {"expectation": "rule", "location": "p.yaml:11:14", "message": "rule is a, expected b"}
    ]
    assert test["policies"] == ["p.yaml"]
    assert test["decision"]["runner"] == "v1"


def test_junit(cli: Any, folder: Path) -> None:
    write(folder, expect="{rule: b}")
    write(folder, name="q.yaml")
    answer = cli("test", "p.yaml", "q.yaml", "--junit", "r.xml", "--fail-under", "100")
    assert answer.code == 1
    root = ET.parse(folder / "r.xml").getroot()  # noqa: S314  (our own)
    cases = {
        (suite.get("name"), case.get("name")): [f.get("message") for f in case.iter("failure")]
        for suite in root.iter("testsuite")
        for case in suite.iter("testcase")
    }
    assert cases == {
        ("p.yaml", "llama"): ["rule is a, expected b"],
        ("q.yaml", "llama"): [],
        ("runnerctl test", "--fail-under 100"): [
            "rules decided in a test: 25 %, and at least 100 % is wanted"
        ],
    }


def test_a_junit_file_that_cannot_be_written(cli: Any, folder: Path) -> None:
    write(folder)
    answer = cli("test", "p.yaml", "--junit", "no/r.xml")
    assert answer.code == 2
    assert "no/r.xml: cannot be written" in answer.err


def test_the_policies_of_the_project(cli: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, name="policies/p.yaml")
    (folder / "pyproject.toml").write_text('[tool.runnerctl]\npolicies = ["policies"]\n')
    (folder / "src").mkdir()
    monkeypatch.chdir(folder / "src")
    answer = cli("test", "-v")
    assert answer.code == 0
    assert answer.out.startswith("ok    ../policies/p.yaml:9:5  llama\n")


def test_each_policy_alone_and_all_together(cli: Any, folder: Path) -> None:
    write(folder)
    (folder / "q.yaml").write_text(
        "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: q}\n"
        "rules: [{id: everything, match: {}, runner: v2, enforce: require}]\n"
    )
    assert cli("test", "p.yaml", "q.yaml").code == 0
    together = cli("test", "p.yaml", "q.yaml", "--together")
    assert together.code == 1
    assert "error: rules `a` (p.yaml:6:5) and `everything` (q.yaml:4:9) both require" in together.out


def test_the_shipped_policies(cli: Any) -> None:
    answer = cli("test", ROOT / "configs", "--coverage", "--mutation", "--fail-under", "95")
    assert answer.code == 0
