"""What of a YAML text belongs to a secret, on every line of it, also where the text is not YAML."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.document.hidden import hidden_in_lines
from policy.secret import may_hold_secrets

# A text, and what is left of it.
READ: dict[str, tuple[str, str]] = {
    "a block": (
        "env:\n  SSL_KEY: |  # ours\n    one\n\n    two # three\n  A: b\n",
        "env:\n  SSL_KEY: |  # ours\n    ****\n\n    ****\n  A: b\n",
    ),
    "a folded block, the last thing": ("env:\n  HF_TOKEN: >-\n    one\n    two\n", "env:\n  HF_TOKEN: >-\n    ****\n    ****\n"),
    "a block that keeps its end": ("e:\n  A_KEY: |+\n    one\n\n# two\nb: c", "e:\n  A_KEY: |+\n    ****\n\n# two\nb: c"),
    "plain, folded": ("env:\n  HF_TOKEN: one\n    two\n    three\nb: c", "env:\n  HF_TOKEN: ****\n    ****\n    ****\nb: c"),
    "on the next line": ("env:\n  HF_TOKEN:\n    one\nb: c", "env:\n  HF_TOKEN:\n    ****\nb: c"),
    "in quotes, folded": ('env:\n  HF_TOKEN: "one\n  two"\nb: c', "env:\n  HF_TOKEN: ****\n  ****\nb: c"),
    "in quotes, at the margin": ("env:\n  HF_TOKEN: 'one\ntwo: x' # y\nb: c", "env:\n  HF_TOKEN: ****\n**** # y\nb: c"),
    "in a flow mapping": ("env: {HF_TOKEN: one\n  two, A: b}", "env: {HF_TOKEN: ****\n  ****, A: b}"),
    "of a fact": ("m:\n  env.HF_TOKEN: >\n    one\n  A: b", "m:\n  env.HF_TOKEN: >\n    ****\n  A: b"),
    "several": ("m: {env.HF_TOKEN: [one, 'two\n  three']}", "m: {env.HF_TOKEN: [****, ****\n  ****]}"),
    "an operator": ("m: {env.HF_TOKEN: {ne: one}}", "m: {env.HF_TOKEN: {ne: ****}}"),
    "whether there is one": ("m: {env.HF_TOKEN: {exists: true}}", "m: {env.HF_TOKEN: {exists: true}}"),
    "a mapping": ("env:\n  HF_TOKEN:\n    one: two\n    three:\n    - four", "env:\n  HF_TOKEN:\n    ****: ****\n    ****:\n    - ****"),
    "an explicit key": ("env:\n  ? HF_TOKEN\n  : |\n    one\n", "env:\n  ? HF_TOKEN\n  : |\n    ****\n"),
    "a key that is no scalar": ("? {a: b}\n: {HF_TOKEN: one}\nHF_TOKEN: two", "? {a: b}\n: {HF_TOKEN: ****}\nHF_TOKEN: ****"),
    "a key with an escape": ('"HF_T\\x4fKEN": one', '"HF_T\\x4fKEN": ****'),
    "behind an anchor": ("A: &t\n  one\nHF_TOKEN: *t\nb: c", "A: ****\n  ****\nHF_TOKEN: *t\nb: c"),
    "a mapping behind an anchor": ("A: &t {b: one}\nHF_TOKEN: *t", "A: &t {b: ****}\nHF_TOKEN: *t"),
    "what looks like an alias": ("HF_TOKEN: *one", "HF_TOKEN: ****"),
    "what looks like a tag": ("HF_TOKEN: !one", "HF_TOKEN: ****"),
    "credentials in an address": ("PROXY: >\n  http://me:one@host\nb: c", "PROXY: >\n  ****\nb: c"),
    "a token, wherever it stands": (
        "A: hf_abcdefghijklmnopqrstuvwxyz012345 # hf_abcdefghijklmnopqrstuvwxyz012345\nb: c", "A: **** # ****\nb: c"
    ),
    "a token with an escape": ('A: "hf\\x5fabcdefghijklmnopqrstuvwxyz012345"\nb: c', "A: ****\nb: c"),
    "an address with an escape": ('A: "http:\\/\\/me:one@host"\nb: c', "A: ****\nb: c"),
    "a private key": (
        "A: |\n  -----BEGIN PRIVATE KEY-----\n  one\n  -----END PRIVATE KEY-----\nb: c", "A: |\n  ****\n  ****\n  ****\nb: c"
    ),
    "no mapping": ("env: HF_TOKEN one", "env: ****"),
    "no mapping, but a list": ("env:\n- HF_TOKEN one\n- A b", "env:\n- ****\n- A b"),
    "a value in the key": ("env: {HF_TOKEN=one: a, HF_TOKEN two, A: b}", "env: {****: a, ****, A: b}"),
    "a key over two lines": ('? "HF_TO\\\n  KEN"\n: one\nb: c', '? "HF_TO\\\n  KEN"\n: ****\nb: c'),
    "two documents": ("HF_TOKEN: |\n  one\n---\nHF_TOKEN: |\n  two\n", "HF_TOKEN: |\n  ****\n---\nHF_TOKEN: |\n  ****\n"),
    "none": ("env:\n  MAX_TOKENS: |\n    one\n  PWD: two\n", "env:\n  MAX_TOKENS: |\n    one\n  PWD: two\n"),
    "blank": ('HF_TOKEN: ""\nA_TOKEN:\nb: c', 'HF_TOKEN: ""\nA_TOKEN:\nb: c'),
    "letters of two columns": ("größe: 漢字\nHF_TOKEN: 漢字\n  漢\nb: 漢", "größe: 漢字\nHF_TOKEN: ****\n  ****\nb: 漢"),
}  # fmt: skip

# Where there is no YAML to read, what is hidden is guessed; the line of the name is read by itself elsewhere.
BROKEN = "]: x\n"
GUESSED: dict[str, tuple[str, str]] = {
    "a block at the margin": (
        "env:\n  SSL_KEY: |\n-----BEGIN KEY-----\nMIIE+/=\n-----END KEY-----\n  A: b\n",
        "env:\n  SSL_KEY: |\n****\n****\n****\n  A: b\n",
    ),
    "a block after the mistake": (f"{BROKEN}env:\n  SSL_KEY: |\n    one\n    two: x\n  A: b\n", f"{BROKEN}env:\n  SSL_KEY: |\n    ****\n    ****\n  A: b\n"),
    "a block that is left too far": ("env:\n  HF_TOKEN: |\n     one\n   two\n  three\nb: c", "env:\n  HF_TOKEN: |\n     ****\n   ****\n  ****\nb: c"),
    "quotes without an end": (f'{BROKEN}HF_TOKEN: "one\n- two\nthree: x"\nb: c', f'{BROKEN}HF_TOKEN: "one\n****\n****\nb: c'),
    "in a list": (f"{BROKEN}- HF_TOKEN: >\n    one\n  A: b", f"{BROKEN}- HF_TOKEN: >\n    ****\n  A: b"),
    "in a flow mapping": ("env: {HF_TOKEN: one\ntwo, A: b\nc: [d", "env: {HF_TOKEN: ****\n****\nc: [d"),
    "what no plain text begins with": (f"{BROKEN}HF_TOKEN: @one\nA_TOKEN: [two\nb: c", f"{BROKEN}HF_TOKEN: ****\nA_TOKEN: ****\nb: c"),
    "a token": (f"{BROKEN}A: hf_abcdefghijklmnopqrstuvwxyz012345", f"{BROKEN}A: ****"),
    "a tab": ("env:\n  HF_TOKEN:\n\tone\n  A: b", "env:\n  HF_TOKEN:\n\t****\n  A: b"),
    "none": (f"{BROKEN}env:\n  A: |\n    one\n", f"{BROKEN}env:\n  A: |\n    one\n"),
}  # fmt: skip

CASES = READ | {f"broken: {name}": case for name, case in GUESSED.items()}


def left_of(text: str) -> str:
    lines = text.split("\n")
    for number, parts in hidden_in_lines(lines).items():
        for first, last in reversed(parts):
            line = lines[number - 1]
            lines[number - 1] = f"{line[:first]}****{line[last:]}"
    return "\n".join(lines)


@pytest.mark.parametrize("case", CASES)
def test_hidden(case: str) -> None:
    text, left = CASES[case]
    assert left_of(text) == left


@pytest.mark.parametrize("case", [case for case in READ if "\\" not in READ[case][0]])
def test_other_line_ends_change_nothing(case: str) -> None:
    text, left = READ[case]
    assert left_of(text.replace("\n", "\r\n")) == left.replace("\n", "\r\n")


@pytest.mark.parametrize("case", CASES)
def test_what_is_told_quickly_is_sure(case: str) -> None:
    text, left = CASES[case]
    assert may_hold_secrets(text) or text == left


@given(st.text(alphabet="aK \n\t:|>-{}[]\"'&*!#,?\r\\%é", max_size=40))
def test_any_text_can_be_looked_at(text: str) -> None:
    """Parts stand in their lines, in order and apart."""
    lines = f"HF_TOKEN: {text}".splitlines()
    for number, parts in hidden_in_lines(lines).items():
        ends = [0, *(place for part in parts for place in part), len(lines[number - 1])]
        assert ends == sorted(ends)
        assert all(lines[number - 1][first:last].strip() for first, last in parts)


def test_nesting_is_no_matter() -> None:
    assert hidden_in_lines(["[" * 20_000, "HF_TOKEN: |", "  one"])
