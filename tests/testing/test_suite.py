"""Which tests are run against which policies, and what is said of files that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.document import DocumentError
from policy.testing.suite import load_suites

HEAD = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: NAME}\n"
TESTS = "apiVersion: runnerctl/v1\nkind: RunnerPolicyTest\n"
ONE = "tests:\n- {name: t, given: {vllm: 0.23.0}, expect: {status: ok}}\n"


def policy(name: str, tests: str = "") -> str:
    return HEAD.replace("NAME", name) + f"rules:\n- {{id: {name}-rule, match: {{}}, runner: v1}}\n" + tests


A, B = policy("a", ONE), policy("b")

# Files, the paths that are given, and each suite that has tests: its file and the policies that it is about.
FOUND = {
    "a policy alone": ({"a.yaml": A, "b.yaml": B}, ["a.yaml"], {"a.yaml": ["a.yaml"]}),
    "a folder, each policy alone": (
        {"a.yaml": A, "b.yaml": policy("b", ONE)},
        ["."],
        {"a.yaml": ["a.yaml"], "b.yaml": ["b.yaml"]},
    ),
    "a test file, its namesake": (
        {"a.yaml": policy("a"), "b.yaml": B, "a_test.yaml": TESTS + ONE},
        ["a_test.yaml"],
        {"a_test.yaml": ["a.yaml"]},
    ),
    "a policy brings its test file": (
        {"a.yaml": A, "a_test.yaml": TESTS + ONE},
        ["a.yaml"],
        {"a.yaml": ["a.yaml"], "a_test.yaml": ["a.yaml"]},
    ),
    "a test file without a namesake": (
        {"a.yaml": policy("a"), "b.yaml": B, "fleet_test.yaml": TESTS + ONE},
        ["."],
        {"fleet_test.yaml": ["a.yaml", "b.yaml"]},
    ),
    "a test file that names its policies": (
        {"p/a.yaml": policy("a"), "p/b.yaml": B, "t/x_test.yml": TESTS + "policies: [../p/b.yaml]\n" + ONE},
        ["t"],
        {"t/x_test.yml": ["p/b.yaml"]},
    ),
    "a test file that names a folder": (
        {"p/a.yaml": policy("a"), "p/b.yaml": B, "t/x_test.yaml": TESTS + "policies: [../p]\n" + ONE},
        ["t/x_test.yaml"],
        {"t/x_test.yaml": ["p/a.yaml", "p/b.yaml"]},
    ),
    "a test file of another name": (
        {"a.yaml": policy("a"), "checks.yaml": TESTS + "policies: [a.yaml]\n" + ONE},
        ["checks.yaml"],
        {"checks.yaml": ["a.yaml"]},
    ),
    "named twice": ({"a.yaml": A}, ["a.yaml", "./a.yaml", "."], {"a.yaml": ["a.yaml"]}),
}


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize("case", FOUND)
def test_what_is_run_against_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    files, given, wanted = FOUND[case]
    write(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    found = {
        suite.source: sorted(file.source for file in suite.policies.files)
        for suite in load_suites(given)
        if suite.tests
    }
    assert found == wanted


def test_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a.yaml": A, "b.yaml": policy("b", ONE)})
    monkeypatch.chdir(tmp_path)
    for suite in load_suites(["."], together=True):
        assert [file.source for file in suite.policies.files] == ["a.yaml", "b.yaml"]


def test_a_policy_is_read_once_whoever_names_it(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"a.yaml": A, "a_test.yaml": TESTS + ONE, "x/y_test.yaml": TESTS + "policies: [../a.yaml]\n" + ONE},
    )
    own, beside, far = load_suites([tmp_path])
    assert own.policies.files[0] is beside.policies.files[0] is far.policies.files[0]


# Files, the paths that are given, and what is said, in order.
REFUSED = {
    "an empty path": ({}, [""], ["the path is empty"]),
    "no such file": ({}, ["a.yaml"], ["a.yaml: cannot be read: no such file"]),
    "an empty folder": ({"d/x.txt": ""}, ["d"], ["d: the folder holds no policy file"]),
    "a policy that is not there": (
        {"x_test.yaml": TESTS + "policies: [a.yaml, b.yaml]\n" + ONE},
        ["."],
        ["x_test.yaml:3:12: `a.yaml` is not there", "x_test.yaml:3:20: `b.yaml` is not there"],
    ),
    "a test file without policies": (
        {"x_test.yaml": TESTS + ONE},
        ["."],
        ["the folder holds no policy file"],
    ),
    "a test file without tests": ({"a.yaml": A, "a_test.yaml": TESTS}, ["."], ["no `tests`"]),
    "an empty list of tests": (
        {"a.yaml": A, "a_test.yaml": TESTS + "tests: []\n"},
        ["."],
        ["`tests` is empty"],
    ),
    "a policy named as a test file": (
        {"a.yaml": A, "a_test.yaml": A},
        ["."],
        ["a_test.yaml:2:7: this is a policy, and a test file is wanted"],
    ),
    "a test file named as a policy": (
        {"a.yaml": A, "b/c.yaml": TESTS + ONE},
        ["a.yaml", "x_test.yaml"],
        ["x_test.yaml: cannot be read"],
    ),
    "policies that do not go together": (
        {"a.yaml": A, "b.yaml": A, "x_test.yaml": TESTS + ONE},
        ["."],
        ["two rules have the id `a-rule`"],
    ),
    "everything that is wrong at once": (
        {"a.yaml": A.replace("runner", "runer"), "b.yaml": "[", "x_test.yaml": TESTS + "tests: 1\n"},
        ["."],
        ["a.yaml:", "b.yaml:", "x_test.yaml:3:8: `tests` is `1`, not a list"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    files, given, parts = REFUSED[case]
    write(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DocumentError) as refused:
        load_suites(given)
    text = str(refused.value)
    at = -1
    for part in parts:
        at = text.find(part, at + 1)
        assert at >= 0, text


def test_resolve_says_what_a_test_file_is(tmp_path: Path) -> None:
    from policy.rules.policy_set import load_policies

    write(tmp_path, {"t.yaml": TESTS + ONE})
    with pytest.raises(DocumentError, match="this is a test file, and a policy is wanted"):
        load_policies([tmp_path / "t.yaml"])
