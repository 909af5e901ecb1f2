"""`runnerctl lint`: paths, options, settings, standard input, exit codes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from runnerctl.cli.lint import lint
from runnerctl.cli.lint_options import FLAGS, LISTS, PATHS, VALUES, plain_options
from runnerctl.cli.main import application

ROOT = Path(__file__).resolve().parents[2]
HEAD = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: NAME, owner: team}\n"
GOOD = """rules:
  - {id: ID, match: {labels.team: ID}, runner: v1, reason: it must}
tests:
  - {given: {vllm: 0.23.0, labels.team: ID}, expect: {runner: v1, rule: ID}}
"""
# One error of the schema, one of meaning, and a warning, all in one file.
BAD = """rules:
  - {id: a, match: {nope: 1}, runner: v1, reason: r}
  - {id: b, match: {platform: gpu}, runner: v3, reason: r}
  - {id: c, match: {architectures: LamaForCausalLM}, runner: v1}
"""


def policy(body: str, name: str = "p") -> str:
    return HEAD.replace("NAME", name) + body.replace("ID", name)


def codes(out: str) -> list[str]:
    return re.findall(r"\[(R[DMEH]\d{3})\]", out)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


EXITS: dict[str, tuple[dict[str, str], list[str], int, list[str]]] = {
    "nothing is wrong": ({"a.yaml": policy(GOOD)}, ["a.yaml"], 0, []),
    "a note does not fail": (
        {"a.yaml": policy("rules:\n  - {id: a, match: {vllm: '>=9'}, runner: v1, reason: r}\n")},
        ["a.yaml", "--select", "future-release"],
        0,
        ["RE304"],
    ),
    "a warning": ({"a.yaml": policy(GOOD.replace(", reason: it must", ""))}, ["a.yaml"], 1, ["RH403"]),
    "schema, meaning and engine in one go": (
        {"a.yaml": policy(BAD)},
        ["a.yaml", "--ignore", "RH4"],
        1,
        ["RM201", "RD124", "RE301"],
    ),
    "all files in one go": (
        {"one.yaml": policy(BAD), "two.yaml": policy(BAD, "q"), "three.yaml": "a: ["},
        ["two.yaml", "one.yaml", "three.yaml", "--select", "RD,RM"],
        2,
        ["RM204", "RM201", "RD124", "RM204", "RM201", "RD124", "RD105"],
    ),
    "a file that is not there": ({}, ["missing.yaml"], 2, ["RD101"]),
    "one that is there beside it": (
        {"a.yaml": policy(GOOD.replace(", reason: it must", ""))},
        ["a.yaml", "missing.yaml"],
        2,
        ["RH403", "RD101"],
    ),
    "not YAML": ({"a.yaml": "a: ["}, ["a.yaml"], 2, ["RD105"]),
    "what cannot be read is not ignored": ({"a.yaml": "a: ["}, ["a.yaml", "--ignore", "RD1"], 2, ["RD105"]),
    "a folder without policies": ({"d/README.md": "x"}, ["d"], 2, ["RD102"]),
    "an empty path": ({}, [""], 2, ["RD102"]),
    "two files are one set": (
        {"a.yaml": policy(GOOD), "b.yaml": policy(GOOD)},
        ["a.yaml", "b.yaml", "--select", "RM204"],
        1,
        ["RM204"],
    ),
    "one file twice is one": ({"a.yaml": policy(GOOD)}, ["a.yaml", ".", "./a.yaml"], 0, []),
}


@pytest.mark.parametrize("case", EXITS)
def test_exit_and_codes(cli: Callable[..., Any], here: Path, case: str) -> None:
    files, words, code, found = EXITS[case]
    write(here, files)
    answer = cli("lint", *words)
    assert sorted(codes(answer.out)) == sorted(found)
    assert answer.code == code
    for format_ in ("json", "sarif", "github", "junit"):
        assert cli("lint", *words, "--format", format_).code == code


def test_findings_are_in_a_total_order(cli: Callable[..., Any], here: Path) -> None:
    write(here, {"b.yaml": policy(BAD), "a.yaml": policy(BAD, "q")})
    first = cli("lint", "a.yaml", "b.yaml", "--format", "json").json["findings"]
    assert cli("lint", "b.yaml", "a.yaml", "--format", "json").json["findings"] == first
    places = [
        (f["location"]["path"], f["location"]["line"], f["location"]["column"], f["code"]) for f in first
    ]
    assert places == sorted(places)


USAGE = {
    "an unknown code": (["--select", "RE999"], "no rule `RE999`"),
    "an unknown name": (["--ignore", "unknown-architectur"], "did you mean `unknown-architecture`"),
    "an empty word": (["--select", ""], "no rule ``"),
    "an unknown format": (["--format", "xml"], "one of text, json, sarif, github, junit"),
    "a day that is none": (["--today", "soon"], "a day is written YYYY-MM-DD"),
    "a day without dashes": (["--today", "20260101"], "--today 20260101: a day is written YYYY-MM-DD"),
    "a day of a week": (["--today", "2026-W01-1"], "a day is written YYYY-MM-DD"),
    "both": (["--fix", "--diff"], "exclude each other"),
    "no such baseline": (["--baseline", "none.json"], "none.json: cannot be read: no such file"),
    "no catalog": (["--catalog", "."], "no folder `releases` in it"),
    "an unknown option": (["--fixx"], "No such option"),
}


@pytest.mark.parametrize("case", USAGE)
def test_usage(cli: Callable[..., Any], here: Path, case: str) -> None:
    words, part = USAGE[case]
    write(here, {"a.yaml": policy(GOOD)})
    answer = cli("lint", "a.yaml", *words)
    assert (answer.code, answer.out) == (2, "")
    assert part in answer.err


@pytest.mark.usefixtures("here")
def test_nothing_to_check(cli: Callable[..., Any]) -> None:
    answer = cli("lint")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("nothing to check")


def test_the_default_folder(cli: Callable[..., Any], here: Path) -> None:
    write(here, {"configs/a.yaml": policy(GOOD)})
    answer = cli("lint")
    assert (answer.code, answer.err) == (0, "1 file checked: no finding\n")


SETTINGS = {
    "runnerctl.toml": 'policies = ["p"]\n[lint]\nignore = ["missing-reason"]\n',
    "pyproject.toml": '[tool.runnerctl]\npolicies = ["p"]\n[tool.runnerctl.lint]\nignore = ["missing-reason"]\n',
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_are_found_above(
    cli: Callable[..., Any], here: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = GOOD.replace(", reason: it must", ", links: [x]")  # and a mistake that is still said
    write(here, {name: SETTINGS[name], "p/a.yaml": policy(body), "deep/er/x": ""})
    monkeypatch.chdir(here / "deep" / "er")
    answer = cli("lint")
    assert (answer.code, codes(answer.out)) == (1, ["RD124"])
    assert answer.out.startswith("../../p/a.yaml:5:")


def test_options_go_over_settings(cli: Callable[..., Any], here: Path) -> None:
    body = GOOD.replace(", reason: it must", "")
    write(here, {"runnerctl.toml": '[lint]\nselect = ["RE3"]\n', "a.yaml": policy(body)})
    assert cli("lint", "a.yaml").code == 0
    assert codes(cli("lint", "a.yaml", "--select", "RH4").out) == ["RH403"]


BAD_SETTINGS = {
    "[lint]\nselects = []\n": "unknown setting `lint.selects`; did you mean `select`",
    '[lint]\nselect = "RE3"\n': "`lint.select` is a list",
    "lint = 1\n": "`lint` is not a table",
    "[lint]\nbaseline = 1\n": "`lint.baseline` is the path of a file",
    '[lint]\nbaseline = "none.json"\n': "the baseline of the settings, none.json: cannot be read",
    '[lint]\nignore = ["RE999"]\n': "runnerctl.toml: no rule `RE999`",
    '[lint]\nselect = ["XX"]\n': "runnerctl.toml: no rule `XX`",
}


@pytest.mark.parametrize("text", BAD_SETTINGS)
def test_settings_that_cannot_be_used(cli: Callable[..., Any], here: Path, text: str) -> None:
    write(here, {"runnerctl.toml": text, "a.yaml": policy(GOOD)})
    answer = cli("lint", "a.yaml")
    assert (answer.code, answer.out) == (2, "")
    assert BAD_SETTINGS[text] in answer.err


@pytest.mark.usefixtures("here")
def test_standard_input(cli: Callable[..., Any]) -> None:
    text = policy(GOOD.replace(", reason: it must", "")).encode()
    answer = cli("lint", "-", "--stdin-filename", "configs/new.yaml", stdin=text)
    assert answer.code == 1
    assert answer.out.startswith("configs/new.yaml:5:10: warning[RH403]")
    assert cli("lint", "-", stdin=policy(GOOD).encode()).code == 0
    assert "<stdin>" in cli("lint", "-", stdin=b"\xff").out


def test_standard_input_beside_files(cli: Callable[..., Any], here: Path) -> None:
    write(here, {"a.yaml": policy(GOOD)})
    answer = cli("lint", "a.yaml", "-", "--select", "RM204", stdin=policy(GOOD).encode())
    assert codes(answer.out) == ["RM204"]


def test_the_shipped_policies_are_clean(cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    answer = cli("lint", "--no-cache", "--today", "2026-12-01")
    assert (answer.code, answer.out) == (0, "")


def test_explain(cli: Callable[..., Any]) -> None:
    page = (ROOT / "docs" / "lint" / "unknown-architecture.md").read_text("utf-8")
    assert cli("explain", "RE301").out == page
    assert cli("explain", "unknown-architecture").out == page
    listed = cli("explain")
    assert listed.code == 0
    assert "RE301  warning  unknown-architecture" in listed.out
    assert "(preview)" in listed.out
    wrong = cli("explain", "RE31")
    assert (wrong.code, wrong.out) == (2, "")
    assert "no rule `RE31`" in wrong.err


def test_one_file_that_cannot_be_read_hides_no_other(cli: Callable[..., Any], here: Path) -> None:
    files = {"a.yaml": "", "t.yaml": policy(BAD), "z.yaml": "a: [", "b_test.yaml": "a: ["}
    write(here, {f"d/{name}": text for name, text in files.items()})
    (here / "d" / "self.yaml").symlink_to("self.yaml")
    answer = cli("lint", "d", "--ignore", "RH4", "--format", "json")
    named = {finding["location"]["path"] for finding in answer.json["findings"]}
    assert named == {f"d/{name}" for name in (*files, "self.yaml")}
    assert answer.code == 2


def test_a_folder_of_tests_alone_is_read(cli: Callable[..., Any], here: Path) -> None:
    write(here, {"d/a_test.yaml": "a: ["})
    assert sorted(codes(cli("lint", "d").out)) == ["RD102", "RD105"]


# --- the reader of plain options, and Typer's --------------------------------------------------------------------


def test_both_readers_have_the_same_options() -> None:
    (command,) = typer.main.get_command(application(["lint"])).commands.values()  # type: ignore[attr-defined]
    typed = {
        name: parameter.name
        for parameter in command.params
        for name in parameter.opts
        if parameter.name not in (PATHS, "help") and name.startswith("--")
    }
    assert typed == {**FLAGS, **VALUES, **LISTS}
    assert lint.__doc__


READ: dict[str, tuple[list[str], dict[str, Any] | None]] = {
    "nothing": ([], {}),
    "paths": (["a", "-", "b"], {"paths": ["a", "-", "b"]}),
    "values": (["--format", "json", "a", "--today=x"], {"format_": "json", "today": "x", "paths": ["a"]}),
    "lists": (["--select", "a", "--select=b"], {"select": ["a", "b"]}),
    "flags": (["--fix", "--no-cache"], {"fix": True, "no_cache": True}),
    "after two dashes": (["--fix", "--", "--fix"], {"fix": True, "paths": ["--fix"]}),
    "a value that is missing": (["--format"], None),
    "a value that looks like an option": (["--format", "--fix"], None),
    "help": (["a", "--help"], None),
    "a flag with a value": (["--fix=1"], None),
    "an unknown option": (["--nope"], None),
}


@pytest.mark.parametrize("case", READ)
def test_plain_options(case: str) -> None:
    words, wanted = READ[case]
    assert plain_options(words) == wanted


def test_both_readers_run_the_same(cli: Callable[..., Any], here: Path) -> None:
    """An abbreviation or an odd spelling goes through Typer and comes to the same."""
    write(here, {"a.yaml": policy(BAD)})
    plain = cli("lint", "a.yaml", "--format", "json", "--select", "RM")
    assert plain_options(["a.yaml", "--format", "json", "--select", "-"]) is None
    typed = application(["lint"])
    with pytest.raises(SystemExit) as leaving:
        typed(["lint", "a.yaml", "--format", "json", "--select", "RM"], standalone_mode=False)
    assert leaving.value.code == plain.code
    assert json.loads(plain.out)["summary"]["errors"] == 1


# --- tests in files of their own ---------------------------------------------------------------------------------

TESTS = "apiVersion: runnerctl/v1\nkind: RunnerPolicyTest\ntests:\n  - {given: {vllm: 0.23.0, labels.team: p}, expect: EXPECT}\n"
UNTESTED = GOOD.split("tests:", maxsplit=1)[0]

TEST_FILES: dict[str, tuple[dict[str, str], list[str], list[str]]] = {
    "a rule that only its test file tests": (
        {"p.yaml": policy(UNTESTED), "p_test.yaml": TESTS.replace("EXPECT", "{runner: v1, rule: p}")},
        ["."],
        [],
    ),
    "the same, the policy named alone": (
        {"p.yaml": policy(UNTESTED), "p_test.yaml": TESTS.replace("EXPECT", "{runner: v1, rule: p}")},
        ["p.yaml"],
        [],
    ),
    "without it": ({"p.yaml": policy(UNTESTED)}, ["p.yaml"], ["RH407"]),
    "a mistake in a test file": (
        {"p.yaml": policy(GOOD), "p_test.yaml": TESTS.replace("EXPECT", "{runer: v1}")},
        ["."],
        ["RD121"],
    ),
    "a fact that is none": (
        {
            "p.yaml": policy(GOOD),
            "p_test.yaml": TESTS.replace("labels.team", "team").replace("EXPECT", "{rule: p}"),
        },
        ["."],
        ["RM201"],
    ),
    "a test of no rule": (
        {"p.yaml": policy(GOOD), "p_test.yaml": TESTS.replace("EXPECT", "{rule: q}")},
        ["."],
        ["RH408"],
    ),
    "a test of policies that are elsewhere": (
        {
            "p.yaml": policy(GOOD),
            "more_test.yaml": TESTS.replace("EXPECT", "{rule: q}").replace(
                "tests:", "policies: [../other]\ntests:"
            ),
        },
        ["."],
        [],
    ),
    "a test file alone": (
        {
            "more_test.yaml": TESTS.replace("EXPECT", "{runner: v1}").replace(
                "tests:", "policies: [q.yaml]\ntests:"
            )
        },
        ["more_test.yaml"],
        ["RH410"],
    ),
    "a policy in the place of tests": (
        {"p.yaml": policy(GOOD), "p_test.yaml": policy(GOOD, "q")},
        ["."],
        ["RD128"],
    ),
}


@pytest.mark.parametrize("case", TEST_FILES)
def test_test_files(cli: Callable[..., Any], here: Path, case: str) -> None:
    files, words, found = TEST_FILES[case]
    write(here, files)
    answer = cli("lint", *words)
    assert codes(answer.out) == found
    assert cli("lint", *words, "--diff").code == 0


def test_a_rule_whose_match_is_wrong_says_nothing_of_others(cli: Callable[..., Any], here: Path) -> None:
    """Without the condition that could not be read it would seem to take everything."""
    body = "rules:\n  - {id: a, match: {nope: 1}, runner: v1, enforce: require}\n  - {id: b, match: {}, runner: v2}\n"
    write(here, {"p.yaml": policy(body)})
    assert codes(cli("lint", "p.yaml", "--select", "RM").out) == ["RM201"]


def test_a_rule_that_does_not_fit_is_there_for_its_tests(cli: Callable[..., Any], here: Path) -> None:
    write(here, {"p.yaml": policy(GOOD.replace("runner: v1, reason", "runner: v3, reason"))})
    assert codes(cli("lint", "p.yaml").out) == ["RD124"]


def test_what_may_be_in_a_file_that_cannot_be_read(cli: Callable[..., Any], here: Path) -> None:
    """A rule may be tested there, and a test may be about a rule there."""
    write(here, {"p.yaml": policy(UNTESTED), "q.yaml": "a: ["})
    assert codes(cli("lint", ".").out) == ["RD105"]


@pytest.mark.parametrize("format_", ["text", "json", "sarif", "github", "junit"])
def test_the_example_of_a_conflict_holds_no_secret(cli: Callable[..., Any], here: Path, format_: str) -> None:
    one = "  - {id: ID, match: {env.HF_TOKEN: hunter2-of-ours}, runner: RUNNER, enforce: require}\n"
    rules = one.replace("ID", "a").replace("RUNNER", "v1") + one.replace("ID", "b").replace("RUNNER", "v2")
    (here / "p.yaml").write_text(HEAD.replace("NAME", "p") + f"rules:\n{rules}")
    answer = cli("lint", "p.yaml", "--format", format_)
    assert "for example" in answer.out
    assert "****" in answer.out
    assert "hunter2-of-ours" not in answer.out


@pytest.mark.parametrize("format_", ["text", "json", "sarif", "github", "junit"])
def test_a_secret_that_is_a_number_is_not_said(cli: Callable[..., Any], here: Path, format_: str) -> None:
    (here / "p.yaml").write_text(policy("env: {HF_TOKEN: 12345678987}\nrules: []\n"))
    answer = cli("lint", "p.yaml", "--format", format_)
    assert "quote it" in answer.out
    assert "12345678987" not in answer.out
