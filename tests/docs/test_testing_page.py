"""The examples of docs/testing.md that need no engine do what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import runnerctl.testing
from runnerctl.cli.main import application

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "testing.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", PAGE, re.DOTALL)
# Names that only a running engine or a test file has.
NEEDS = ("engine", "runner,", "pytest", "llm", "suite")


def runnable() -> list[tuple[str, str]]:
    return [(code, said) for code, said in BLOCKS if not any(word in code for word in NEEDS)]


@pytest.mark.parametrize(("code", "said"), runnable())
def test_examples_print_what_the_page_says(code: str, said: str) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "docs/testing.md", "exec"), {"__name__": "page"})  # noqa: S102
    assert out.getvalue() == said


def test_there_is_something_to_check() -> None:
    assert len(runnable()) >= 4
    assert sum(bool(said) for _, said in runnable()) >= 3


def test_every_name_that_is_imported_is_there() -> None:
    found = re.findall(r"^from runnerctl\.testing import (.+)$", PAGE, re.MULTILINE)
    names = {name.strip() for line in found for name in line.split(",")}
    assert names <= set(runnerctl.testing.__all__)
    for name in runnerctl.testing.__all__:
        assert getattr(runnerctl.testing, name) is not None


def test_every_option_of_parity_that_is_named_exists(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        application(["parity"])(["parity", "--help"])
    text = capsys.readouterr().out
    section = PAGE[PAGE.index("## Parity") : PAGE.index("## Not covered")]
    for option in set(re.findall(r"`(--[a-z-]+)", section)):
        assert option in text, option
