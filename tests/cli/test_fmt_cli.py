"""`runnerctl fmt`: what is written, what is only shown, and what is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from policy.document import Source
from policy.formatting.format import format_text

GOOD = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\n"
BAD = "kind: RunnerPolicy\napiVersion: runnerctl/v1\n"
TESTS = "apiVersion: runnerctl/v1\nkind: RunnerPolicyTest\npolicies: [a]\ntests: []\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "good.yaml": GOOD,
        "bad.yaml": BAD,
        "x/good_test.yaml": TESTS,
        "x/bad.yml": BAD,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


# Arguments, the exit code, standard output and error, and the files that are written.
CASES: dict[str, tuple[list[str], int, str, str, list[str]]] = {
    "a good file": (["good.yaml"], 0, "", "", []),
    "a bad file": (["bad.yaml"], 0, "", "formatted: bad.yaml\n", ["bad.yaml"]),
    "a folder": (["."], 0, "", "formatted: bad.yaml\nformatted: x/bad.yml\n", ["bad.yaml", "x/bad.yml"]),
    "a file twice": (["bad.yaml", "."], 0, "", "formatted: bad.yaml\nformatted: x/bad.yml\n", ["bad.yaml", "x/bad.yml"]),
    "check": (["--check", "."], 1, "would be formatted: bad.yaml\nwould be formatted: x/bad.yml\n", "", []),
    "check a good file": (["--check", "good.yaml"], 0, "", "", []),
    "diff": (
        ["--diff", "bad.yaml", "good.yaml"],
        1,
        "--- bad.yaml\n+++ bad.yaml\n@@ -1,2 +1,2 @@\n+apiVersion: runnerctl/v1\n kind: RunnerPolicy\n-apiVersion: runnerctl/v1\n",
        "",
        [],
    ),
    "diff of a good file": (["--diff", "good.yaml"], 0, "", "", []),
    "no such file": (["bad.yaml", "no.yaml"], 2, "", "no.yaml: cannot be read: no such file or directory [unreadable-file]\n", []),
    "an empty folder": ([".git"], 2, "", ".git: the folder holds no policy file (`*.yaml`) [no-policy]\n", []),
    "tests alone": (["x/good_test.yaml"], 0, "", "", []),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_fmt(cli: Any, folder: Path, case: str) -> None:
    words, code, out, err, written = CASES[case]
    answer = cli("fmt", *words)
    assert (answer.code, answer.out, answer.err) == (code, out, err)
    for name in ("bad.yaml", "x/bad.yml"):
        assert (folder / name).read_text() == (GOOD if name in written else BAD)


def test_without_arguments(cli: Any, folder: Path) -> None:
    (folder / "runnerctl.toml").write_text('policies = ["x"]\n')
    assert cli("fmt", "--check").out == "would be formatted: x/bad.yml\n"


STDIN = {
    "formatted": ([], BAD, 0, GOOD),
    "good": ([], GOOD, 0, GOOD),
    "check": (["--check"], BAD, 1, "would be formatted: -\n"),
    "not YAML": ([], "a: [", 2, ""),
}


@pytest.mark.parametrize("case", STDIN)
def test_standard_input(cli: Any, case: str) -> None:
    words, text, code, out = STDIN[case]
    answer = cli("fmt", "-", *words, stdin=text.encode())
    assert (answer.code, answer.out) == (code, out)
    assert answer.err.startswith("<stdin>:2:1: ") == (code == 2)


def test_nothing_is_written_when_a_file_is_wrong(cli: Any, folder: Path) -> None:
    (folder / "wrong.yaml").write_text("a: [")
    answer = cli("fmt", "bad.yaml", "wrong.yaml", "no.yaml")
    assert answer.code == 2
    assert "wrong.yaml:2:1" in answer.err
    assert "no.yaml: cannot be read" in answer.err
    assert (folder / "bad.yaml").read_text() == BAD


@pytest.mark.parametrize("text", [BAD, BAD.rstrip("\n"), BAD.replace("\n", "\r\n")])
def test_the_diff_is_one_that_patch_takes(cli: Any, folder: Path, text: str) -> None:
    path = folder / "p.yaml"
    path.write_bytes(text.encode())
    diff = cli("fmt", "--diff", "p.yaml").out
    subprocess.run(["git", "apply", "-"], input=diff.encode(), check=True)
    assert path.read_bytes().decode() == format_text(Source("p.yaml", text)) != text


def test_permissions_stay(cli: Any, folder: Path) -> None:
    (folder / "bad.yaml").chmod(0o640)
    cli("fmt", "bad.yaml")
    assert (folder / "bad.yaml").stat().st_mode & 0o777 == 0o640


def test_a_byte_order_mark_stays(cli: Any, folder: Path) -> None:
    before, after = (f"\ufeff{text}".replace("\n", "\r\n").encode() for text in (BAD, GOOD))
    (folder / "bad.yaml").write_bytes(before)
    assert cli("fmt", "-", stdin=before).out.encode() == after
    assert cli("fmt", "bad.yaml").code == 0
    assert (folder / "bad.yaml").read_bytes() == after
    assert cli("fmt", "bad.yaml", "--check").code == 0


def test_the_shipped_policies_are_formatted(cli: Any) -> None:
    assert cli("fmt", "--check", Path(__file__).parents[2] / "configs").code == 0
