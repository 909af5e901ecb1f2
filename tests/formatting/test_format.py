"""Formatting: the order of keys, where comments go, what is left alone, and what never changes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.document import Source, parse
from policy.document.comments import comments
from policy.formatting.format import format_text
from policy.input_error import InputError

# What a text becomes, None where it stays.
CASES: dict[str, tuple[str, str | None]] = {
    "in order": ("apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: a}\nrules: []\n", None),
    "the root": (
        "rules: []\nkind: RunnerPolicy\napiVersion: runnerctl/v1\n",
        "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nrules: []\n",
    ),
    "a header stays on top": (
        "# yaml-language-server: x\n#\n# about it\nkind: RunnerPolicy\napiVersion: runnerctl/v1\n",
        "# yaml-language-server: x\n#\n# about it\napiVersion: runnerctl/v1\nkind: RunnerPolicy\n",
    ),
    "blank lines stay where they are": (
        "kind: RunnerPolicy\napiVersion: runnerctl/v1\n\nrules: []\n\nmetadata: {name: a}\n",
        "apiVersion: runnerctl/v1\nkind: RunnerPolicy\n\nmetadata: {name: a}\n\nrules: []\n",
    ),
    "comments go with their keys": (
        "rules:\n  # of the first\n  - runner: v1  # beside\n    # above\n    id: a\n    # at the end\n",
        "rules:\n  # of the first\n  # above\n  - id: a\n    runner: v1  # beside\n    # at the end\n",
    ),
    "deeper comments stay with the value above": (
        "rules:\n- match:\n    platform: cuda\n    # deeper\n\n    # and deeper\n  id: a\n",
        "rules:\n- id: a\n  match:\n    platform: cuda\n    # deeper\n\n    # and deeper\n",
    ),
    "a comment above the first key of metadata": (
        "metadata:\n  # whose\n  owner: x\n  name: a\n",
        "metadata:\n  name: a\n  # whose\n  owner: x\n",
    ),
    "a flow mapping": (
        "rules: [{runner: v1, match: {b: 1, a: 2}, id: 'a b'}]\n",
        "rules: [{id: 'a b', match: {b: 1, a: 2}, runner: v1}]\n",
    ),
    "a flow mapping over lines": (
        "rules:\n- {runner: v1,\n   id: a}\n",
        "rules:\n- {id: a,\n   runner: v1}\n",
    ),
    "a flow mapping with a comment": ("rules:\n- {runner: v1, # why\n   id: a}\n", None),
    "unknown keys come last, in their order": ("zeta: 1\nalpha: 2\nkind: x\n", "kind: x\nzeta: 1\nalpha: 2\n"),
    "a match, facts and variables": (
        "rules:\n- {id: a, match: {vllm: x, architectures: y}}\nenv: {B: 1, A: 2}\n"
        "tests:\n- {given: {vllm: x, architectures: y}}\n",
        None,
    ),
    "a test": (
        "tests:\n- expect: {rule: a, runner: v1}\n  given: {}\n  name: n\n",
        "tests:\n- name: n\n  given: {}\n  expect: {runner: v1, rule: a}\n",
    ),
    "a test file": (
        "tests: []\npolicies: [a]\nkind: RunnerPolicyTest\n",
        "kind: RunnerPolicyTest\npolicies: [a]\ntests: []\n",
    ),
    "a block scalar": (
        "rules:\n- reason: |\n    one\n\n    # two\n\n  id: a\n- {id: b}\n",
        "rules:\n- id: a\n\n  reason: |\n    one\n\n    # two\n- {id: b}\n",
    ),
    "a block scalar that keeps its blank lines": (
        "rules:\n- reason: |+\n    one\n\n  id: a\n",
        None,
    ),
    "no value": ("rules:\n- match:\n  # about id\n  id: a\n", "rules:\n# about id\n- id: a\n  match:\n"),
    "no line end": ("kind: x\napiVersion: y", "apiVersion: y\nkind: x\n"),
    "no line end after a block scalar": ("apiVersion: |\n  a", None),
    "carriage returns, and none in the last line": ("kind: x\r\napiVersion: y", "apiVersion: y\r\nkind: x\r\n"),
    "carriage returns alone": ("kind: x\rapiVersion: y", "apiVersion: y\rkind: x\r"),
    "carriage returns of rules": (
        "rules:\r\n  - runner: v1\r\n    id: a",
        "rules:\r\n  - id: a\r\n    runner: v1\r\n",
    ),
    "carriage returns": ("kind: x\r\napiVersion: y\r\n", "apiVersion: y\r\nkind: x\r\n"),
    "two documents' worth of dots": ("---\nkind: x\napiVersion: y\n...\n", "---\napiVersion: y\nkind: x\n...\n"),
    "a value that ends with a line separator": (
        "rules:\n  - runner: v1\n    id: a\n    reason: xx\u2028    match: {}\n",
        "rules:\n  - id: a\n    match: {}\n    runner: v1\n    reason: xx\u2028",
    ),
    "a block that ends with one": (
        "rules:\n- reason: |\u2028    one\u2028  id: a\u2028  runner: v1\x85",
        "rules:\n- id: a\u2028  runner: v1\x85  reason: |\u2028    one\u2028",
    ),
    "anchors": ("rules:\n- {runner: v1, reason: &r x, id: a}\n- {reason: *r, id: b}\n", None),
    "a question mark": ("? kind\n: x\napiVersion: y\n", None),
    "quotes and letters of the world": (
        "rules:\n- reason: \"ü \U0001f600 # no comment\"  # ü\n  id: 'a'\n",
        "rules:\n- id: 'a'\n  reason: \"ü \U0001f600 # no comment\"  # ü\n",
    ),
    "a list at the column of its key": (
        "tests:\n- {given: {}}\n# of the rules\nrules:\n- {id: a}\n",
        "# of the rules\nrules:\n- {id: a}\ntests:\n- {given: {}}\n",
    ),
    "no policy at all": ("a: 1\n", None),
    "a list": ("- b\n- a\n", None),
    "a JSON policy": (
        '{"kind": "x", "apiVersion": "y"}\n',
        '{"apiVersion": "y", "kind": "x"}\n',
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_format(case: str) -> None:
    text, wanted = CASES[case]
    formatted = format_text(Source("p.yaml", text))
    assert formatted == (text if wanted is None else wanted)
    assert format_text(Source("p.yaml", formatted)) == formatted


def test_refuses_rather_than_changing_a_value() -> None:
    """Text that ends in a block scalar without a line end: moved up, the value would get one."""
    with pytest.raises(InputError, match="not formatted, as this would change what it says"):
        format_text(Source("p.yaml", "metadata: {name: a}\nkind: |\n  a"))


@pytest.mark.parametrize("text", ["a: [", "a: 1\na: 2\n", "", "a: 1\n---\nb: 2\n"])
def test_text_that_is_not_a_document(text: str) -> None:
    with pytest.raises(InputError):
        format_text(Source("p.yaml", text))


def remarks(text: str) -> list[str]:
    return sorted(comment.text for comment in comments(text))


def written(value: Any, dice: random.Random, indent: int, room: int, *, in_mapping: bool = False) -> str:
    """A value as YAML text in one of the ways in which people write it, comments in between."""

    def remark(column: int) -> str:
        lines = ["", f"{' ' * column}# c{dice.random()}\n", "\n"]
        return "".join(dice.choice(lines) for _ in range(dice.randrange(3)))

    if isinstance(value, dict) and value and room:
        out = ""
        for key, below in value.items():
            out += (
                remark(indent)
                + " " * indent
                + f"{key}:{written(below, dice, indent + 2, room - 1, in_mapping=True)}"
            )
        return "\n" + out
    if isinstance(value, list) and value and room:
        step = indent - (dice.choice([0, 2]) if in_mapping else 0)
        out = ""
        for item in value:
            text = written(item, dice, step + 2, room - 1)
            below = text.lstrip("\n")
            if text[0] == "\n" and isinstance(item, dict) and not below.lstrip().startswith("#"):
                text = " " + below.lstrip(" ")  # the first key beside the dash
            out += remark(step) + " " * step + "-" + text
        return "\n" + out
    if isinstance(value, str) and dice.random() < 0.2 and value.isalpha():
        style = dice.choice(["|", "|-", ">", ">-", "|+"])
        return f" {style}\n{' ' * indent}{value}\n" + dice.choice(["", "\n"])
    return " " + flow(value, dice) + dice.choice(["", f"  # c{dice.random()}"]) + "\n"


def flow(value: Any, dice: random.Random) -> str:
    if isinstance(value, dict):
        return "{" + dice.choice([", ", ","]).join(f"{k}: {flow(v, dice)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(v, dice) for v in value) + "]"
    if isinstance(value, str):
        return dice.choice([f'"{value}"', f"'{value}'"])
    return (
        {True: "true", False: "false", None: "null"}[value]
        if value is None or value is True or value is False
        else str(value)
    )


WORDS = st.sampled_from(["v1", "text", "a # b", "{x}", "- y", "é", ""])
VALUES = st.recursive(
    WORDS | st.booleans() | st.integers(0, 9) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=5,
)


def mappings(keys: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.permutations(keys).flatmap(
        lambda order: st.fixed_dictionaries({}, optional=dict.fromkeys(order, VALUES))
    )


RULES = mappings(["id", "match", "runner", "enforce", "reason", "env", "other"])
TESTS = st.fixed_dictionaries(
    {}, optional={"expect": mappings(["runner", "rule", "env"]), "given": VALUES, "name": WORDS}
)
POLICIES = st.fixed_dictionaries(
    {"rules": st.lists(RULES, min_size=1, max_size=3)},
    optional={
        "tests": st.lists(TESTS, max_size=2),
        "env": VALUES,
        "metadata": mappings(["owner", "name", "links"]),
        "kind": st.just("RunnerPolicy"),
        "apiVersion": WORDS,
    },
)


@settings(max_examples=400, deadline=None)
@given(POLICIES, st.integers(0, 2**32), st.integers(1, 6))
def test_nothing_is_lost_and_a_second_time_changes_nothing(
    data: dict[str, Any], seed: int, room: int
) -> None:
    text = written(data, random.Random(seed), 0, room)  # noqa: S311
    text = text.lstrip("\n")
    if text.startswith(" "):
        text = text[1:]
    before = parse(Source("p.yaml", text)).data
    formatted = format_text(Source("p.yaml", text))
    assert parse(Source("p.yaml", formatted)).data == before
    assert remarks(formatted) == remarks(text)
    assert format_text(Source("p.yaml", formatted)) == formatted
    if "#" not in text and "|+" not in text:
        after = parse(Source("p.yaml", formatted)).data
        order = [k for k in ("apiVersion", "kind", "metadata", "rules", "env", "tests") if k in before]
        assert list(after) == order
