"""`--fix` and `--diff`: what is mended, what stays, and what is written where."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HEAD = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: p, owner: team}\n"

# What is mended, before and after: everything else in the files stays, comments, quotes and blanks too.
MENDED = {
    "numbers are quoted": (
        "rules:  # ours\n"
        "  - {id: a, match: {vllm: 0.10}, runner: v1, env: {VLLM_X: 1,  Y: 0x10}}  # kept\n"
        "env:\n  N: 1.50   # kept\n  M: true\n",
        "rules:  # ours\n"
        '  - {id: a, match: {vllm: "0.10"}, runner: v1, env: {VLLM_X: "1",  Y: "0x10"}}  # kept\n'
        'env:\n  N: "1.50"   # kept\n  M: "true"\n',
    ),
    "gaps between releases": (
        "rules:\n"
        "  - {id: a, match: {vllm: '>=0.22.dev0, <0.23'}, runner: v1}\n"
        '  - {id: b, match: {vllm: ">=0.23,  <0.25.0"}, runner: v2}\n'
        "  - {id: c, match: {vllm: '>=0.25'}, runner: v1} # newest\n",
        "rules:\n"
        "  - {id: a, match: {vllm: '>=0.22.dev0, <0.23.dev0'}, runner: v1}\n"
        '  - {id: b, match: {vllm: ">=0.23.dev0,  <0.25.0.dev0"}, runner: v2}\n'
        "  - {id: c, match: {vllm: '>=0.25.dev0'}, runner: v1} # newest\n",
    ),
    "a priority that means nothing": (
        "rules:\n  - id: a\n    match: {}\n    priority: 3\n    runner: v1\n    enforce: require\n",
        "rules:\n  - id: a\n    match: {}\n    runner: v1\n    enforce: require\n",
    ),
}
# What looks like it, and is left alone.
LEFT = {
    "a priority with a comment": "rules:\n  - id: a\n    match: {}\n    priority: 3  # why\n    runner: v1\n    enforce: require\n",
    "rules that nothing but the platform keeps apart": (
        "rules:\n"
        "  - {id: a, match: {platform: cuda, vllm: '<0.23'}, runner: v1}\n"
        "  - {id: b, match: {platform: rocm, vllm: '>=0.23'}, runner: v2}\n"
    ),
    "a gap that a third rule has": (
        "rules:\n"
        "  - {id: a, match: {vllm: '>=0.23.dev0,<0.25'}, runner: v1, enforce: require}\n"
        "  - {id: rc, match: {vllm: '>=0.25.dev0,<=0.25rc9'}, runner: v1}\n"
        "  - {id: b, match: {vllm: '>=0.25'}, runner: v2}\n"
    ),
    "a range that another rule shares": (
        "rules:\n"
        "  - {id: a, match: {architectures: A, vllm: '<0.25'}, runner: v1}\n"
        "  - {id: b, match: {architectures: A, vllm: &late '>=0.25'}, runner: v2}\n"
        "  - {id: c, match: {architectures: B, vllm: *late}, runner: v2}\n"
    ),
    "an architecture with a near name": "rules:\n  - {id: a, match: {architectures: LamaForCausalLM}, runner: v1}\n",
}
RULES = ["--select", "RD123,RE305,RH412"]


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("case", MENDED)
def test_fix(cli: Callable[..., Any], here: Path, case: str, ending: str) -> None:
    before, after = (HEAD + text for text in MENDED[case])
    path = here / "p.yaml"
    path.write_bytes(before.replace("\n", ending).encode())
    path.chmod(0o640)
    shown = cli("lint", "p.yaml", *RULES, "--diff")
    assert shown.code == 1
    assert path.read_bytes() == before.replace("\n", ending).encode(), "--diff changes nothing"
    assert shown.out.startswith("--- p.yaml\n+++ p.yaml\n@@")
    answer = cli("lint", "p.yaml", *RULES, "--fix")
    assert (answer.code, answer.out) == (0, "")
    assert path.read_bytes() == after.replace("\n", ending).encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert "fixed" in answer.err
    again = cli("lint", "p.yaml", *RULES, "--diff")
    assert (again.code, again.out) == (0, "")


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_a_byte_order_mark_stays(cli: Callable[..., Any], here: Path, ending: str) -> None:
    before, after = (
        ("\ufeff" + HEAD + text).replace("\n", ending).encode() for text in MENDED["numbers are quoted"]
    )
    path = here / "p.yaml"
    path.write_bytes(before)
    assert "\n+\ufeff" not in cli("lint", "p.yaml", *RULES, "--diff").out
    assert cli("lint", "p.yaml", *RULES, "--fix").code == 0
    assert path.read_bytes() == after
    assert cli("lint", "-", *RULES, "--fix", stdin=before).out.encode() == after


@pytest.mark.parametrize("case", LEFT)
def test_left_alone(cli: Callable[..., Any], here: Path, case: str) -> None:
    path = here / "p.yaml"
    path.write_text(HEAD + LEFT[case])
    cli("lint", "p.yaml", "--fix")
    assert path.read_text() == HEAD + LEFT[case]


def test_a_gap_between_two_files(cli: Callable[..., Any], here: Path) -> None:
    (here / "a.yaml").write_text(HEAD + "rules: [{id: a, match: {vllm: '<0.23'}, runner: v1}]\n")
    (here / "b.yaml").write_text(
        HEAD.replace("p,", "q,") + "rules: [{id: b, match: {vllm: '>=0.23'}, runner: v2}]\n"
    )
    assert cli("lint", ".", *RULES, "--fix").code == 0
    assert "'<0.23.dev0'" in (here / "a.yaml").read_text()
    assert "'>=0.23.dev0'" in (here / "b.yaml").read_text()


def test_what_cannot_be_mended_is_said(cli: Callable[..., Any], here: Path) -> None:
    path = here / "p.yaml"
    path.write_text(HEAD + "rules: [{id: a, match: {vllm: 0.23, nope: 1}, runner: v1}]\n")
    answer = cli("lint", "p.yaml", "--fix", "--select", "RD,RM")
    assert answer.code == 1
    assert '"0.23"' in path.read_text()
    assert "unknown fact `nope`" in answer.out
    assert "RD123" not in answer.out


def test_standard_input_is_mended_to_standard_output(cli: Callable[..., Any], here: Path) -> None:
    before, after = (HEAD + text for text in MENDED["numbers are quoted"])
    answer = cli("lint", "-", *RULES, "--fix", stdin=before.encode())
    assert (answer.code, answer.out) == (0, after)
    other = cli("lint", "-", *RULES, "--diff", "--stdin-filename", "new.yaml", stdin=before.encode())
    assert other.out.startswith("--- new.yaml\n+++ new.yaml\n")
    assert list(here.glob("*.yaml")) == []


def test_standard_input_under_the_name_of_a_file_leaves_the_file_alone(
    cli: Callable[..., Any], here: Path
) -> None:
    before, after = (HEAD + text for text in MENDED["numbers are quoted"])
    (here / "p.yaml").write_text("untouched")
    answer = cli("lint", "-", *RULES, "--fix", "--stdin-filename", "p.yaml", stdin=before.encode())
    assert (answer.code, answer.out) == (0, after)
    assert (here / "p.yaml").read_text() == "untouched"


def test_a_file_that_cannot_be_read_stands_in_nobodys_way(cli: Callable[..., Any], here: Path) -> None:
    before, after = (HEAD + text for text in MENDED["numbers are quoted"])
    (here / "p.yaml").write_text(before)
    answer = cli("lint", "p.yaml", "missing.yaml", *RULES, "--fix")
    assert answer.code == 2
    assert (here / "p.yaml").read_text() == after
    assert cli("lint", "p.yaml", "missing.yaml", *RULES, "--diff").code == 2


def test_a_finding_that_is_silenced_is_not_mended(cli: Callable[..., Any], here: Path) -> None:
    text = HEAD + "rules: []\nenv: {N: 1}  # runnerctl: ignore[RD123] a reader of ours wants it so\n"
    (here / "p.yaml").write_text(text)
    assert cli("lint", "p.yaml", *RULES, "--fix").code == 0
    assert (here / "p.yaml").read_text() == text
