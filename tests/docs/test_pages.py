"""The pages on tests, CI and editors: every command in them runs, and prints what stands there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from policy.document import Source, parse
from runnerctl.cli.snippets import GITHUB, GITLAB, PRE_COMMIT

ROOT = Path(__file__).resolve().parents[2]
RUNNERCTL = Path(sys.executable).parent / "runnerctl"
PAGES = {
    name: (ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in ("testing-policies", "ci", "editors")
}


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGES[page], re.DOTALL)


def consoles() -> list[tuple[str, str, str]]:
    """(page, command, output) of each console block."""
    found = []
    for page in PAGES:
        for block in blocks(page, "console"):
            command, _, output = block.partition("\n")
            found.append((page, command.removeprefix("$ runnerctl "), output))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Every example that begins with its file's name, as that file."""
    (tmp_path / ".git").mkdir()
    for page in PAGES:
        for block in blocks(page, "yaml"):
            if name := re.match(r"# (\w+\.yaml)\n", block):
                (tmp_path / name[1]).write_text(block)
    return tmp_path


@pytest.mark.parametrize(("page", "command", "output"), consoles())
def test_console_examples(folder: Path, page: str, command: str, output: str) -> None:
    done = subprocess.run(
        [RUNNERCTL, *shlex.split(command)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (output, ""), page


def test_there_is_something_to_check() -> None:
    assert {page for page, _, _ in consoles()} == {"testing-policies", "editors"}
    assert len(consoles()) >= 5


@pytest.mark.parametrize("snippet", [PRE_COMMIT, GITHUB, GITLAB], ids=["pre-commit", "github", "gitlab"])
def test_the_snippets_are_those_that_init_prints(snippet: str) -> None:
    assert snippet in blocks("ci", "yaml")


def test_the_inputs_of_the_action() -> None:
    inputs = parse(Source("action.yml", (ROOT / "action.yml").read_text())).data["inputs"]
    rows = [
        f"| `{name}` | {said['description']} | {'`' + said['default'] + '`' if said['default'] else ''} |"
        for name, said in inputs.items()
    ]
    assert "\n".join(rows) in PAGES["ci"]


@pytest.mark.parametrize(
    "command", [line.split("  #")[0].strip() for block in blocks("ci", "bash") for line in block.splitlines()]
)
def test_the_checks_pass_here(command: str) -> None:
    words = shlex.split(command)
    done = subprocess.run([RUNNERCTL, *words[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_expectation_is_explained() -> None:
    schema = parse(Source("", (ROOT / "schemas/policy.schema.json").read_text())).data
    test = schema["$defs"]["test"]["properties"]
    page = PAGES["testing-policies"]
    assert [name for name in (*test, *test["expect"]["properties"]) if f"`{name}`" not in page] == []


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", PAGES[page])
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []
