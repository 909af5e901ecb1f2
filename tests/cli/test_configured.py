"""Which policies are meant where none are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.input_error import InputError
from runnerctl.cli.configured import policy_paths_here

OWN = "runnerctl.toml"
SHARED = "pyproject.toml"

# Files by path, the folder where one stands, and the paths that are meant there.
FOUND = {
    "runnerctl.toml": ({OWN: 'policies = ["a", "b/c.yaml"]'}, ".", ["a", "b/c.yaml"]),
    "pyproject.toml": ({SHARED: '[tool.runnerctl]\npolicies = ["a"]'}, ".", ["a"]),
    "the first before the second": (
        {OWN: 'policies = ["a"]', SHARED: '[tool.runnerctl]\npolicies = ["b"]'},
        ".",
        ["a"],
    ),
    "from a folder below": ({OWN: 'policies = ["a"]'}, "x/y", ["../../a"]),
    "the nearest": ({OWN: 'policies = ["a"]', f"x/{OWN}": 'policies = ["b"]'}, "x/y", ["../b"]),
    "a pyproject.toml of something else is passed by": (
        {OWN: 'policies = ["a"]', f"x/{SHARED}": "[project]\nname = 'x'"},
        "x",
        ["../a"],
    ),
    "an absolute path": ({OWN: 'policies = ["/etc/p"]'}, ".", None),
    "configs without settings": ({"configs/p.yaml": ""}, ".", ["configs"]),
    "configs with settings of another kind": ({"configs/p.yaml": "", OWN: "[lint]"}, ".", ["configs"]),
}


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    return tmp_path


@pytest.mark.parametrize("case", FOUND)
def test_what_is_found(root: Path, case: str) -> None:
    files, where, wanted = FOUND[case]
    write(root, files)
    (root / where).mkdir(parents=True, exist_ok=True)
    found = policy_paths_here(root / where)
    if wanted is None:
        assert [(root / path).resolve() for path in found] == [Path("/etc/p")]
    else:
        assert found == wanted


REFUSED = {
    "nothing at all": ({}, ".", "nothing to check"),
    "settings beyond the repository": ({"x/.git/HEAD": "", OWN: 'policies = ["a"]'}, "x", "nothing to check"),
    "not TOML": ({OWN: "policies = [\n'a'\nb"}, ".", "not valid TOML"),
    "a wrong setting": ({OWN: 'policy = ["a"]'}, ".", "did you mean `policies`?"),
    "not a list": ({OWN: 'policies = "a"'}, ".", "`policies` is a list of paths"),
    "an empty list": ({OWN: "policies = []"}, ".", "`policies` is empty"),
    "not a table": ({SHARED: "[tool]\nrunnerctl = 1"}, ".", "is not a table"),
    "not UTF-8": ({}, "latin", "not UTF-8"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(root: Path, case: str) -> None:
    files, where, part = REFUSED[case]
    write(root, files)
    (root / where).mkdir(exist_ok=True)
    if case == "not UTF-8":
        (root / where / OWN).write_bytes(b"# \xe9\n")
    with pytest.raises(InputError, match=part.replace("[", r"\[").replace("?", r"\?")):
        policy_paths_here(root / where)
