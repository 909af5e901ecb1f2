"""Comments are where YAML says that they are."""

from __future__ import annotations

import pytest
import yaml

from policy.document.comments import comments

# A text, and its comments.
COMMENTS = {
    "a: 1 # x\n# y": ["# x", "# y"],
    "a: 'b # c' # d": ["# d"],
    "a: 'b\n  # c' # d": ["# d"],
    'a: "b \\" # c\n  # d"\n': [],
    "a: b#c": [],
    "a: b\n  c # d": ["# d"],
    "a: |\n  # in\n# out\n": ["# out"],
    "a: >-\n  x\n\n  # in\n # out\nb: 1\n": ["# out"],
    "a: |  # of it\n  # in\n": ["# of it"],
    "a: &x >-  # of it\n  # in\n": ["# of it"],
    "a: |+\n  # in\n\n\n# out": ["# out"],
    "a: |2\n   # in\n": [],
    "[a, # x\n b]": ["# x"],
    "a: &x b # y\nc: *x # z\n": ["# y", "# z"],
    "a: &x # y\n  b # z\n": ["# y", "# z"],
    "a: &x # y\n  # z\n  'b # c'\n": ["# y", "# z"],
    "a: &x # y\nb: 1\n": ["# y"],
    "a: &x # y\n  b: 1\n": ["# y"],
    "- # x\n  a: 1\n": ["# x"],
    "# only\na: # x # y\n  b\n": ["# only", "# x # y"],
    "a: 1 # x\u2028# y\x85# z": ["# x", "# y", "# z"],
    "--- # x\n'# k': 1  # y  \n... # z\n": ["# x", "# y", "# z"],
    "é: 'ü # ü' # ä\n": ["# ä"],
    "a: [ # not YAML": [],
    "a: \ud800 # not UTF-8": [],
}


@pytest.mark.parametrize("loader", ["installed", "python"])
@pytest.mark.parametrize("text", COMMENTS)
def test_comments(monkeypatch: pytest.MonkeyPatch, text: str, loader: str) -> None:
    if loader == "python":
        monkeypatch.setattr("policy.document.comments._LOADER", yaml.SafeLoader)
    found = comments(text)
    assert [comment.text for comment in found] == COMMENTS[text]
    assert all(text.startswith(comment.text, comment.start) for comment in found)
