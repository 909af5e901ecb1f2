"""A comment that silences findings means the same before and after formatting."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.document import Source, parse
from policy.document.comments import comments
from policy.formatting.format import format_text
from policy.input_error import InputError
from policy.lint.suppression import suppressions

# What a text becomes; S stands for a comment that silences, F for one of the whole file.
MOVED = {
    "above the key that comes first": (
        "rules:\n  - runner: v1\n    S\n    id: a\n    match: {}\n",
        "rules:\n  S\n  - id: a\n    match: {}\n    runner: v1\n",
    ),
    "above an item": (
        "rules:\n  S\n  - runner: v1\n    id: a\n",
        "rules:\n  - id: a\n    S\n    runner: v1\n",
    ),
    "above an item, beside others": (
        "rules:\n  # one\n\n  S\n\n  # two\n  - runner: v1\n    id: a\n",
        "rules:\n  # one\n\n\n  # two\n  - id: a\n    S\n    runner: v1\n",
    ),
    "two that change places": (
        "rules:\n  S\n  - runner: v1\n    S\n    id: a\n",
        "rules:\n  S\n  - id: a\n    S\n    runner: v1\n",
    ),
    "after the dash": (
        "rules:\n  - S\n    # why\n    runner: v1\n    id: a\n",
        "rules:\n  - id: a\n    S\n    # why\n    runner: v1\n",
    ),
    "above a dash alone": (
        "rules:\n  S\n  -\n    runner: v1\n    id: a\n",
        "rules:\n  - id: a\n    S\n    runner: v1\n",
    ),
    "below a value, and deeper": (
        "rules:\n  - runner: v1\n    match:\n      platform: cuda\n      S\n    id: a\n",
        "rules:\n  S\n  - id: a\n    match:\n      platform: cuda\n    runner: v1\n",
    ),
    "at the end of an item, about the next one": (
        "rules:\n  - runner: v1\n    id: a\n      \n    S\n  - runner: v2\n    id: b\n",
        "rules:\n  - id: a\n    runner: v1\n      \n  - id: b\n    S\n    runner: v2\n",
    ),
    "beside a key": (
        "rules:\n  - runner: v1  S\n    id: a\n",
        "rules:\n  - id: a\n    runner: v1  S\n",
    ),
    "behind the head of a block": (
        "rules:\n  - reason: |  S\n      S is text\n    id: a\n",
        "rules:\n  - id: a\n    reason: |  S\n      S is text\n",
    ),
    "in a block, about nothing": (
        "rules:\n  - reason: |\n      S\n  - runner: v1\n    id: a\n",
        "rules:\n  - reason: |\n      S\n  - id: a\n    runner: v1\n",
    ),
    "at the top": ("S\nkind: a\napiVersion: b\n", "apiVersion: b\nS\nkind: a\n"),
    "at the top, behind others": (
        "# header\nS\n\nkind: a\napiVersion: b\n",
        "# header\n\napiVersion: b\nS\nkind: a\n",
    ),
    "in metadata": (
        "metadata:\n  S\n\n  # whose\n  owner: x\n  name: a\n",
        "metadata:\n\n  name: a\n  S\n  # whose\n  owner: x\n",
    ),
    "for the whole file": ("F\nkind: a\napiVersion: b\n", "F\napiVersion: b\nkind: a\n"),
    "a flow mapping over lines, silenced above": ("rules:\nS\n- {runner: v1,\n   id: a}\n", None),
    "a flow mapping over lines, silenced beside": ("rules:\n- {runner: v1,\n   id: a}  S\n", None),
    "a flow mapping in one line": (
        "rules:\nS\n- {runner: v1, id: a}\n",
        "rules:\nS\n- {id: a, runner: v1}\n",
    ),
    "carriage returns": (
        "rules:\r\n  - runner: v1\r\n    S\r\n    id: a\r\n",
        "rules:\r\n  S\r\n  - id: a\r\n    runner: v1\r\n",
    ),
}


@pytest.mark.parametrize("case", MOVED)
def test_where_it_goes(case: str) -> None:
    text, wanted = (filled(part) if part is not None else None for part in MOVED[case])
    assert text is not None
    formatted = format_text(Source("p.yaml", text))
    assert formatted == (wanted or text)
    assert format_text(Source("p.yaml", formatted)) == formatted


def filled(text: str) -> str:
    silencing = "# runnerctl: ignore[RH403] why"
    lines = [line.replace("F", silencing.replace("ignore", "ignore-file")) for line in text.split("\n")]
    return "\n".join(line.replace("S", silencing) for line in lines)


def written(dice: random.Random) -> str:
    """Rules with keys in any order, and comments in every place where there may be some."""
    numbers = iter(range(1000))

    def between(*columns: int) -> str:
        kinds = ["", "", "\n", "# plain C\n", "# runnerctl: ignore[RE301] C\n", "# Runnerctl: IGNORE C\n"]
        out = ""
        for _ in range(dice.randrange(4)):
            kind = dice.choice(kinds)
            indent = " " * dice.choice(columns) if kind.strip() else ""
            out += indent + kind.replace("C", f"c{next(numbers)}")
        return out

    def beside() -> str:
        return dice.choice(["", "", f"  # runnerctl: ignore[RE301] c{next(numbers)}"]) + "\n"

    def value(column: int) -> str:
        way = dice.randrange(5)
        if way == 0:
            return f" |{beside()}{' ' * (column + 2)}# runnerctl: ignore[RE301] t{next(numbers)}\n"
        if way == 1:
            inner = f"{' ' * (column + 2)}k{next(numbers)}: 1{beside()}"
            return f"{beside()}{between(column + 2)}{inner}{between(column + 2, column + 4)}"
        return f" v{next(numbers)}{beside()}"

    text = between(0) + "rules:\n"
    for _ in range(dice.randint(1, 3)):
        keys = dice.sample(["id", "match", "runner", "reason", "env"], dice.randint(1, 5))
        dash = dice.randrange(6)
        text += between(0, 2, 4)
        text += f"  -\n{between(4)}" if dash == 0 else "  - "
        if dash == 1:
            text += f"# runnerctl: ignore[RE301] c{next(numbers)}\n" + between(4)
        for i, key in enumerate(keys):
            text += "" if i == 0 and dash > 1 else "    "
            text += f"{key}:{value(4)}" + (between(4, 6) if i < len(keys) - 1 else "")
    return text + between(0, 2, 4) + dice.choice(["", "kind: x\n"])


def meanings(text: str) -> dict[str, tuple[str, object]]:
    """What each comment silences: the line, and the lines of one key are told apart by their values."""
    lines = text.splitlines()
    found = {}
    for one in suppressions(Source("p.yaml", text)):
        line = lines[one.line - 1]
        about = "" if one.line == one.span.line and line.lstrip(" -").startswith("#") else line.lstrip(" -")
        found[one.reason] = (about, one.unknown)
    return found


@settings(max_examples=600, deadline=None)
@given(st.integers(0, 2**32))
def test_it_silences_the_same(seed: int) -> None:
    text = written(random.Random(seed))  # noqa: S311
    try:
        formatted = format_text(Source("p.yaml", text))
    except InputError:  # a comment about the next item that is deeper than a block that came above it
        assert re.search(r"(?m): \|.*$", text)
        return
    assert parse(Source("p.yaml", formatted)).data == parse(Source("p.yaml", text)).data
    assert sorted(c.text for c in comments(formatted)) == sorted(c.text for c in comments(text))
    assert meanings(formatted) == meanings(text)
    assert format_text(Source("p.yaml", formatted)) == formatted
