"""Comments that silence findings, and baselines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policy.document.source import Source
from policy.lint.suppression import suppressions

HEAD = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: p, owner: team}\n"
LONG = """  - id: a
    match: {architectures: OursForCausalLM, labels.team: a}
    runner: v1
"""
RULE = "  - {id: ID, match: {architectures: OursForCausalLM, labels.team: ID}, runner: v1}"
SELECT = ["--select", "RE301,RH403,RH48"]


def rule(name: str = "a", comment: str = "") -> str:
    return RULE.replace("ID", name) + comment + "\n"


COMMENTS: dict[str, tuple[str, list[str]]] = {
    "none": (rule(), ["RE301", "RH403"]),
    "on its line": (rule("a", "  # runnerctl: ignore[RE301] ours"), ["RH403"]),
    "several codes": (rule("a", "  # runnerctl: ignore[RE301, RH403] ours"), []),
    "by name": (rule("a", "  # runnerctl: ignore[unknown-architecture,missing-reason] ours"), []),
    "on the line above": ("  # runnerctl: ignore[RE301,RH403] ours\n" + rule(), []),
    "above other comments": ("  # runnerctl: ignore[RE301,RH403] ours\n\n  # the plugin\n" + rule(), []),
    "only the next line": (
        "  # runnerctl: ignore[RE301,RH403] ours\n" + rule() + rule("b"),
        ["RE301", "RH403"],
    ),
    "for the whole file": (rule() + rule("b") + "# runnerctl: ignore-file[RE301,RH403] ours\n", []),
    "without a reason": (rule("a", "  # runnerctl: ignore[RE301]"), ["RE301", "RH403", "RH483"]),
    "without a code": (rule("a", "  # runnerctl: ignore ours"), ["RE301", "RH403", "RH482"]),
    "with an empty bracket": (rule("a", "  # runnerctl: ignore[] ours"), ["RE301", "RH403", "RH482"]),
    "with a code that is none": (rule("a", "  # runnerctl: ignore[RE301,RE999] ours"), ["RH403", "RH482"]),
    "with nothing to silence": (rule("a", "  # runnerctl: ignore[RE301,RH401] ours"), ["RH403"]),
    "with nothing to silence, of a rule that ran": (
        rule("a").replace("Ours", "Llama") + "# runnerctl: ignore-file[RE301,RH403] ours\n",
        ["RH481"],
    ),
    "in quotes it is text": (
        rule("a").replace("runner: v1", 'runner: v1, owner: "x # runnerctl: ignore[RE301,RH403] ours"'),
        ["RE301", "RH403"],
    ),
    "in a block it is text": (
        LONG
        + "    owner: |\n      # runnerctl: ignore-file[RE301,RH403] ours\n      # runnerctl: ignore[RE999]\n",
        ["RE301", "RH403"],
    ),
    "in quotes over lines it is text": (
        LONG + "    env: {B: 'multi\n    # runnerctl: ignore-file[RE301,RH403] ours'}\n",
        ["RE301", "RH403"],
    ),
    "behind the head of a block": (
        "  - owner: |  # runnerctl: ignore-file[RE301,RH403] ours\n      o\n" + LONG.replace("- ", "  "),
        [],
    ),
    "behind an anchor": (
        LONG.replace("runner:", "owner: &o # runnerctl: ignore-file[RE301,RH403] ours\n      o\n    runner:"),
        [],
    ),
    "the first thing of an item": (
        LONG.replace("- id", "- # runnerctl: ignore[RH403] ours\n    id"),
        ["RE301"],
    ),
    "above a dash alone": (
        LONG.replace("  - id", "  # runnerctl: ignore[RH403] ours\n  -\n    id"),
        ["RE301"],
    ),
    "above a dash with a comment": (
        LONG.replace("  - id", "  # runnerctl: ignore[RH403] ours\n  - # the plugin\n    id"),
        ["RE301"],
    ),
    "between fields": (
        LONG.replace("    match", "    # runnerctl: ignore[RE301] ours\n    match"),
        ["RH403"],
    ),
    "beside a dash that is text": (
        LONG.replace("OursForCausalLM", "['-', # runnerctl: ignore[RE301] ours\n     '-']"),
        ["RE301", "RH403"],
    ),
    "with a capital": (rule("a", "  # Runnerctl: Ignore[re301, RH403] ours"), []),
    "with two capitals": (rule("a", "  # RunnerCtl: ignore[RE301, RH403] ours"), []),
    "in capitals": (rule() + "# RUNNERCTL: IGNORE-FILE[RE301, RH403] OURS", []),
    "with a capital, without a reason": (
        rule("a", "  # Runnerctl: ignore[RE301]"),
        ["RE301", "RH403", "RH483"],
    ),
    "an apostrophe before it": (
        rule("a").replace("runner: v1", "runner: v1, owner: it's us").rstrip()
        + "  # runnerctl: ignore[RE301,RH403] ours\n",
        [],
    ),
    "an apostrophe in a comment before it": (
        "  # it's ours  # runnerctl: ignore[RE301,RH403] ours\n" + rule(),
        [],
    ),
}


@pytest.mark.parametrize("case", COMMENTS)
def test_comments(cli: Callable[..., Any], here: Path, case: str) -> None:
    body, codes = COMMENTS[case]
    (here / "p.yaml").write_text(f"{HEAD}rules:\n{body}")
    answer = cli("lint", "p.yaml", *SELECT)
    assert sorted(re.findall(r"\[(R[A-Z]\d{3})\] ", re.sub(r"(?m)^  .*$", "", answer.out))) == codes
    assert answer.code == (1 if codes else 0)


@pytest.mark.parametrize("case", COMMENTS)
def test_formatting_keeps_what_they_silence(cli: Callable[..., Any], here: Path, case: str) -> None:
    swapped = re.sub(r"(?s)id: (\w)(.*?)runner: v1", r"runner: v1\2id: \1", COMMENTS[case][0])
    (here / "p.yaml").write_text(f"{HEAD}rules:\n{swapped}")
    before = cli("lint", "p.yaml", *SELECT, "--format", "json").json["findings"]
    assert cli("fmt", "p.yaml").code == 0
    after = cli("lint", "p.yaml", *SELECT, "--format", "json").json["findings"]
    assert sorted(f["code"] for f in before) == sorted(f["code"] for f in after)


def test_a_comment_of_one_file_is_not_that_of_another(cli: Callable[..., Any], here: Path) -> None:
    (here / "p.yaml").write_text(f"{HEAD}rules:\n{rule('a', '  # runnerctl: ignore[RE301,RH403] ours')}")
    (here / "q.yaml").write_text(f"{HEAD.replace('name: p', 'name: q')}rules:\n{rule('b')}")
    answer = cli("lint", ".", *SELECT)
    assert "p.yaml" not in answer.out
    assert answer.out.count("q.yaml:5") == 2


def test_no_comment_hides_what_cannot_be_read(cli: Callable[..., Any], here: Path) -> None:
    (here / "p.yaml").write_text("# runnerctl: ignore-file[RD105] it is fine\na: [\n")
    answer = cli("lint", "p.yaml")
    assert answer.code == 2
    assert "RD105" in answer.out


def test_where_a_comment_stands() -> None:
    text = "a: 1 # runnerctl: ignore[RE301] why  \n"
    (found,) = suppressions(Source("p.yaml", text))
    assert (str(found.span), found.span.end_column, found.line, found.reason) == ("p.yaml:1:6", 36, 1, "why")
    assert list(suppressions(Source("p.yaml", "a: 1\n"))) == []


# --- baselines ---------------------------------------------------------------------------------------------------


def test_a_baseline_takes_away_what_was_there(cli: Callable[..., Any], here: Path) -> None:
    path = here / "p.yaml"
    path.write_text(f"{HEAD}rules:\n{rule()}")
    written = cli("lint", "p.yaml", *SELECT, "--write-baseline", "known.json")
    assert (written.code, written.out, written.err) == (0, "", "known.json: 2 findings\n")
    assert cli("lint", "p.yaml", *SELECT, "--baseline", "known.json").code == 0
    # Lines may move, and what is new is said.
    path.write_text(f"# moved\n\n{HEAD}rules:\n{rule('b')}{rule()}")
    answer = cli("lint", "p.yaml", *SELECT, "--baseline", "known.json")
    assert answer.code == 1
    assert [line for line in answer.out.splitlines() if line.startswith("p.yaml")] == [
        line for line in answer.out.splitlines() if line.startswith("p.yaml:7:")
    ]
    assert "2 in the baseline" in answer.err


def test_a_baseline_counts_equal_findings(cli: Callable[..., Any], here: Path) -> None:
    path = here / "p.yaml"
    twice = "    match: {architectures: [OursForCausalLM]}\n    runner: v1\n"
    path.write_text(f"{HEAD}rules:\n  - id: a\n{twice}")
    cli("lint", "p.yaml", "--select", "RE301", "--write-baseline", "known.json")
    path.write_text(f"{HEAD}rules:\n  - id: a\n{twice}  - id: b\n{twice}")
    answer = cli("lint", "p.yaml", "--select", "RE301", "--baseline", "known.json")
    assert (answer.code, answer.out.count("RE301")) == (1, 1)


def test_what_no_longer_occurs_is_said(cli: Callable[..., Any], here: Path) -> None:
    path = here / "p.yaml"
    path.write_text(f"{HEAD}rules:\n{rule()}")
    cli("lint", "p.yaml", *SELECT, "--write-baseline", "known.json")
    path.write_text(f"{HEAD}rules: []\n")
    answer = cli("lint", "p.yaml", *SELECT, "--baseline", "known.json")
    assert answer.code == 0
    assert "2 of the baseline no longer occur" in answer.err


def test_a_baseline_hides_nothing_that_cannot_be_read(cli: Callable[..., Any], here: Path) -> None:
    (here / "p.yaml").write_text("a: [\n")
    answer = cli("lint", "p.yaml", "--write-baseline", "known.json")
    assert answer.code == 2
    assert not (here / "known.json").exists()


def test_a_baseline_of_the_settings(cli: Callable[..., Any], here: Path) -> None:
    (here / "p.yaml").write_text(f"{HEAD}rules:\n{rule()}")
    cli("lint", "p.yaml", *SELECT, "--write-baseline", "known.json")
    (here / "runnerctl.toml").write_text('policies = ["p.yaml"]\n[lint]\nbaseline = "known.json"\n')
    assert cli("lint", *SELECT).code == 0


SPELLINGS: dict[str, tuple[str, list[str]]] = {
    "the same": (".", ["configs"]),
    "by dots": (".", ["./configs/../configs"]),
    "a slash at the end": (".", ["configs/"]),
    "the whole path": (".", ["HERE/configs"]),
    "each file": (".", ["configs/q.yaml", "./configs/p.yaml"]),
    "from inside": ("configs", ["."]),
    "a link to the folder": (".", ["link"]),
    "what the settings say, from inside": ("configs", []),
}


@pytest.mark.parametrize("written_as", ["configs", "HERE/configs"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_baseline_knows_a_file_however_it_is_spelled(
    cli: Callable[..., Any], here: Path, monkeypatch: pytest.MonkeyPatch, spelling: str, written_as: str
) -> None:
    (here / "configs").mkdir()
    (here / "link").symlink_to("configs")
    for name in ("p", "q"):  # the same ids twice: a message that is about two files
        (here / "configs" / f"{name}.yaml").write_text(f"{HEAD}rules:\n{rule()}{rule('b')}")
    (here / "runnerctl.toml").write_text('policies = ["configs"]\n[lint]\nbaseline = "ci/known.json"\n')
    (here / "ci").mkdir()
    written = cli("lint", written_as.replace("HERE", str(here)), "--write-baseline", "ci/known.json")
    assert written.code == 0
    paths = {f["path"] for f in json.loads((here / "ci" / "known.json").read_text())["findings"]}
    assert paths == {"../configs/p.yaml", "../configs/q.yaml"}
    folder, words = SPELLINGS[spelling]
    monkeypatch.chdir(here / folder)
    answer = cli("lint", *(word.replace("HERE", str(here)) for word in words))
    assert (answer.code, answer.out) == (0, "")
    assert "no longer occur" not in answer.err


def test_a_baseline_of_the_first_version_holds_paths_as_spelled(cli: Callable[..., Any], here: Path) -> None:
    (here / "configs").mkdir()
    (here / "configs" / "p.yaml").write_text(f"{HEAD}rules:\n{rule()}")
    marks = ["cd63d75627d34b396ee2", "9fd621ca7252e9861185"]
    known = {
        "apiVersion": "runnerctl/v1",
        "kind": "LintBaseline",
        "findings": [{"fingerprint": m} for m in marks],
    }
    (here / "known.json").write_text(json.dumps(known))
    assert cli("lint", "configs", *SELECT, "--baseline", "known.json").code == 0
    assert cli("lint", "./configs/../configs", *SELECT, "--baseline", "known.json").code == 1


def test_a_baseline_of_a_version_to_come(cli: Callable[..., Any], here: Path) -> None:
    (here / "p.yaml").write_text(f"{HEAD}rules: []\n")
    (here / "known.json").write_text('{"kind": "LintBaseline", "version": 3, "findings": []}')
    answer = cli("lint", "p.yaml", "--baseline", "known.json")
    assert (answer.code, answer.err) == (
        2,
        "known.json: version 3 of a baseline; this runnerctl reads up to 2\n",
    )


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"kind": "RunnerPolicy"}', '{"kind": "LintBaseline"}', "[" * 9999]
)
def test_files_that_are_no_baseline(cli: Callable[..., Any], here: Path, text: str) -> None:
    (here / "p.yaml").write_text(f"{HEAD}rules: []\n")
    (here / "known.json").write_text(text)
    answer = cli("lint", "p.yaml", "--baseline", "known.json")
    assert (answer.code, answer.out) == (2, "")
    assert "known.json: not a baseline of lint" in answer.err


def test_the_same_findings_give_the_same_baseline(cli: Callable[..., Any], here: Path) -> None:
    (here / "p.yaml").write_text(f"{HEAD}rules:\n{rule()}{rule('b')}")
    for name in ("one.json", "two.json"):
        cli("lint", "p.yaml", *SELECT, "--write-baseline", name)
    assert (here / "one.json").read_text() == (here / "two.json").read_text()
    assert len(json.loads((here / "one.json").read_text())["findings"]) == 4
