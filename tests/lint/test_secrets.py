"""No output of lint or fmt shows the value of a secret, however many lines it has and whatever is found there."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HEAD = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: p, owner: team}\n"
FORMATS = ("text", "json", "sarif", "github", "junit")
SECRET = "hunter2"
BLOCK = "  HF_TOKEN: |\n    hunter2-a\n    hunter2-b\n"

# What stands in a policy, and the code of what is found at a line of the secret, or beside it.
FOUND: dict[str, tuple[str, str]] = {
    "a comment that is none": (
        "rules: []\nenv:\n  HF_TOKEN: | # runnerctl: ignore[NO] x\n    hunter2-a\n", "RH482"
    ),
    "a list": ("rules: []\nenv: {HF_TOKEN: [hunter2-a, hunter2-b]}\n", "RD123"),
    "a mapping": ("rules: []\nenv:\n  HF_TOKEN:\n    hunter2-a: hunter2-b\n", "RD123"),
    "a key twice below it": ("rules: []\nenv:\n  HF_TOKEN:\n    hunter2: 1\n    hunter2: 2\n", "RD123"),
    "a password of a tag": ("rules: []\nenv: {DB_PASSWORD: !hunter2 }\n", "RD107"),
    "a password of an alias": ("rules: []\nenv: {DB_PASSWORD: *hunter2 }\n", "RD109"),
    "a number on the next line": ("rules: []\nenv:\n  HF_TOKEN:\n    &hunter2 4711\n", "RD123"),
    "a text after quotes": ('rules: []\nenv: {HF_TOKEN: "a" hunter2}\n', "RD105"),
    "a variable in a line, without a sign": ("rules: []\nenv: HF_TOKEN hunter2\n", "RD123"),
    "a variable as a key": ("rules: []\nenv: {HF_TOKEN=hunter2, A: b}\n", "RD125"),
    "a variable as a field": ("rules: []\nHF_TOKEN=hunter2: b\n", "RD121"),
    "an address of a test out of reach": (
        "rules: [{id: a, match: {env.U: 'http://me:hunter2@h'}, runner: v1}]\n"
        "tests: [{given: {vllm: 0.23.0}, expect: {rule: a}}]\n",
        "RH409",
    ),
    "an address that covers another": (
        "rules: [{id: a, match: {env.U: ['http://me:hunter2@h', 'http://me:hunter2@*']}, runner: v1}]\n", "RH413"
    ),
    "a variable in a line": ("rules: []\nenv: HF_TOKEN=hunter2\n", "RD123"),
    "a null character": ('rules: []\nenv:\n  HF_TOKEN: "hunter2\n    \\0"\n', "RD124"),
    "a block of the wrong indentation": (f"rules: []\nenv:\n{BLOCK}   hunter2-c\n  A: b\n", "RD105"),
    "a key pasted at the margin": ("env:\n  SSL_KEY: |\n-----BEGIN hunter2-----\nhunter2==\nrules: []\n", "RD105"),
    "quotes that do not end": ('rules: []\nenv:\n  HF_TOKEN: "hunter2\n    hunter2\n', "RD105"),
    "a tab": ("rules: []\nenv:\n  HF_TOKEN:\n\thunter2\n", "RD106"),
    "a control character": ("rules: []\nenv:\n  HF_TOKEN: |\n    hunter2\a\n", "RD105"),
    "a mistake after it": (f"rules: [\nenv:\n{BLOCK}", "RD105"),
    "a value that covers another": (
        "rules:\n  - {id: a, match: {env.HF_TOKEN: [hunter2, 'hunter*']}, runner: v1, reason: r}\n", "RH413"
    ),
    "a rule's environment": (
        f"rules:\n- id: a\n  match: {{}}\n  runner: v1\n  env:\n  {BLOCK.replace('    ', '      ')}", "RE315"
    ),
    "a test out of reach": (
        "rules:\n  - {id: a, match: {any: [env.HF_TOKEN: hunter2-a, env.A_KEY: hunter2]}, runner: v1, reason: r}\n"
        "tests:\n  - given:\n      vllm: 0.23.0\n      env:\n        HF_TOKEN: |\n          hunter2-b\n"
        "    expect: {rule: a}\n",
        "RH409",
    ),
}  # fmt: skip


# Variables, and whether RE315 finds a secret there.
TOKEN = "abcdefghijklmnopqrstuvwxyz0123456789"
ENVIRONMENTS: dict[str, bool] = {
    f"X: hf_{TOKEN}": True,
    f"GH: ghp_{TOKEN}": True,
    "AWS: AKIAIOSFODNN7EXAMPLE": True,
    'U: "https://:pw@h/"': True,
    "U:\n    postgres://u:pw@host/db": True,
    "HF_TOKEN1: abc": True,
    "PASSWORDS: abc": True,
    "HFTOKEN: abc": True,
    "HF_TOKEN:\n    12345678SECRET": True,
    "? HF_TOKEN\n  : abc": True,
    '"HF\\x5fTOKEN": abc': True,
    'VLLM_MAX_BAD_WORDS_TOTAL_TOKENS: "5"': False,
    'VLLM_MULTI_STREAM_GEMM_TOKEN_THRESHOLD: "5"': False,
    "TOKENIZERS_PARALLELISM: 'false'": False,
    "HF_TOKEN_PATH: /run/secrets/hf": False,
    "HF_ENDPOINT: https://me@host/": False,
}


@pytest.mark.parametrize("variable", ENVIRONMENTS)
def test_a_secret_is_found(lint: Callable[..., Any], variable: str) -> None:
    answer = lint(f"rules: []\nenv:\n  {variable}\n", "--select", "RE315")
    assert ("RE315" in answer.out) is ENVIRONMENTS[variable]


@pytest.mark.parametrize("value", ["a" * 1_000_000, "'" + "a: " * 300_000 + "'"])
def test_a_long_line_is_reported_in_time(lint: Callable[..., Any], value: str) -> None:
    start = time.process_time()
    answer = lint(f"rules: [{{id: a, match: {{}}, runner: v1, reason: {value}, x: 1}}]\n")
    assert "RD121" in answer.out
    assert len(answer.out) < 2000
    assert time.process_time() - start < 20  # about one second


def test_many_findings_of_one_line_are_reported_in_time(lint: Callable[..., Any]) -> None:
    rules = ", ".join(
        f"{{id: a{i}, match: {{env.HF_TOKEN: hunter2}}, runner: v1, x: 1}}" for i in range(2000)
    )
    start = time.process_time()
    answer = lint(f"rules: [{rules}]\n")
    assert answer.out.count("RD121") == 2000
    assert SECRET not in answer.out
    assert time.process_time() - start < 20  # about one second


@pytest.fixture
def lint(cli: Callable[..., Any], here: Path) -> Callable[..., Any]:
    def call(body: str, *words: str) -> Any:
        (here / "p.yaml").write_text(HEAD + body)
        return cli("lint", "p.yaml", *words)

    return call


@pytest.mark.parametrize("case", FOUND)
def test_a_finding_shows_no_secret(lint: Callable[..., Any], case: str) -> None:
    body, code = FOUND[case]
    answers = [lint(body, "--format", format_) for format_ in FORMATS]
    assert [code in answer.out for answer in answers] == [True] * len(FORMATS)
    assert not [answer.out for answer in answers if SECRET in answer.out + answer.err]


@pytest.mark.parametrize("case", FOUND)
def test_what_was_found_before_shows_no_secret_either(lint: Callable[..., Any], case: str) -> None:
    first, cached = (lint(FOUND[case][0]) for _ in range(2))
    assert cached.out == first.out


NOTE = "runnerctl: ignore[NO] x"
EXCERPTS = {
    "below its key": (f"  HF_TOKEN:\n    hunter2 # {NOTE}\n", f"    **** # {NOTE}"),
    "below its key, in quotes": (f"  HF_TOKEN:\n    'hunter2 # 2' # {NOTE}\n", f"    **** # {NOTE}"),
    "beside it": (f'  HF_TOKEN: "hunter2 and\n    so" # {NOTE}\n', f"    **** # {NOTE}"),
}


@pytest.mark.parametrize("case", EXCERPTS)
def test_the_caret_stands_below_what_is_shown(lint: Callable[..., Any], case: str) -> None:
    block, shown = EXCERPTS[case]
    lines = lint(f"rules: []\nenv:\n{block}", "--select", "RH482").out.splitlines()
    assert lines[1] == f"  7 | {shown}"
    assert lines[2].rstrip("^") == "    | " + " " * shown.index("# " if "#" in shown else "*")


UNMASKED = "rules:\n  - {id: a, match: {vllm: 0.10}, runner: v1}\nenv: {A: 1}\n"


def apply(folder: Path, diff: str) -> int:
    done = subprocess.run(
        ["patch", "-p0", "--dry-run"], check=False, cwd=folder, input=diff, text=True, capture_output=True
    )
    return done.returncode


# A file that `--diff` changes near a secret, what of it is shown, and whether the rest can be applied.
DIFFS: dict[str, tuple[list[str], str, list[str], bool]] = {
    "lint": (["lint"], f"rules: []\nenv:\n{BLOCK}  A: 1\n", ["   HF_TOKEN: |", "     ****", "     ****", "-  A: 1", '+  A: "1"'], True),
    "lint, in one line": (["lint"], "rules: []\nenv: {HF_TOKEN: hunter2, A: 1}\n", ["-env: {HF_TOKEN: ****, A: 1}", '+env: {HF_TOKEN: ****, A: "1"}'], True),
    "lint, out of sight": (["lint"], f"rules: []\nenv:\n  A: 1\n  B: a\n  C: a\n  D: a\n{BLOCK}", ["-  A: 1"], False),
    "lint, in a comment": (["lint"], "rules: []\n# HF_TOKEN: hunter2\nenv: {A: 1}\n", [" # HF_TOKEN: ****"], True),
    "lint, of a test": (["lint"], f"env: {{A: 1}}\ntests:\n- given:\n    env:\n    {BLOCK.replace('    ', '        ')}    vllm: 0.23.0\n  expect: {{runner: v1}}\nrules: []\n", [" tests:"], False),
    "fmt": (["fmt"], f"env:\n{BLOCK}rules: []\n", ["+rules: []", "   HF_TOKEN: |", "     ****"], True),
    "fmt, moved": (["fmt"], f"env:\n{BLOCK}rules:\n- id: a\n  match: {{}}\n  runner: v1\n  reason: r\n", ["-  HF_TOKEN: |", "-    ****", "+    ****"], True),
    "fmt, without secrets": (["fmt"], "env: {A: b}\nrules: []\n", ["+rules: []"], False),
}  # fmt: skip


@pytest.mark.parametrize("case", DIFFS)
def test_a_diff_shows_no_secret(cli: Callable[..., Any], here: Path, case: str) -> None:
    words, body, shown, hidden = DIFFS[case]
    (here / "p.yaml").write_text(HEAD + body)
    answer = cli(*words, "--diff", "p.yaml")
    assert answer.code == 1
    assert SECRET not in answer.out + answer.err
    assert [line for line in shown if line not in answer.out.splitlines()] == []
    assert ("p.yaml: its diff hides secrets, so it cannot be applied" in answer.err) is hidden
    assert (apply(here, answer.out) != 0) is hidden


def test_fix_keeps_what_is_not_shown(cli: Callable[..., Any], here: Path) -> None:
    (here / "p.yaml").write_text(f"{HEAD}rules: []\nenv:\n{BLOCK}  A: 1\n")
    answer = cli("lint", "--fix", "p.yaml")
    assert (here / "p.yaml").read_text() == f'{HEAD}rules: []\nenv:\n{BLOCK}  A: "1"\n'
    assert SECRET not in answer.out + answer.err
