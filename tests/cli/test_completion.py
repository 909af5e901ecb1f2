"""Shell completion by its protocol: every verb, every option, and values that are known."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from policy.document.schema import SCHEMAS
from policy.lint.registry import rules
from runnerctl.cli.main import VERBS, application

RUNNERCTL = Path(sys.executable).parent / "runnerctl"


def completed(line: str) -> list[str]:
    """What the shell is told for a line with the cursor at its end."""
    words = line.split(" ")
    done = subprocess.run(
        [RUNNERCTL],
        env={
            **os.environ,
            "_RUNNERCTL_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def options(verb: str) -> set[str]:
    command = typer.main.get_command(application([verb])).commands[verb]  # type: ignore[attr-defined]
    return {name for parameter in command.params for name in parameter.opts if name.startswith("--")}


def test_every_verb() -> None:
    assert set(completed("runnerctl ")) == set(VERBS)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "catalog"])
def test_every_option(verb: str) -> None:
    assert set(completed(f"runnerctl {verb} --")) == options(verb) | {"--help"}


LINES = {
    "runnerctl te": ["test"],
    "runnerctl catalog ": ["list", "show", "diff", "verify"],
    "runnerctl catalog show --for": ["--format"],
    "runnerctl test --fo": ["--format"],
    "runnerctl test --format ": ["text", "json"],
    "runnerctl schema ": list(SCHEMAS),
    "runnerctl schema policy": ["policy", "policy-test"],
    "runnerctl init --require ": ["v1", "v2", "engine"],
    "runnerctl init --release 0.23": ["0.23.0"],
    "runnerctl lint --format ": ["text", "json", "sarif", "github", "junit"],
    "runnerctl lint --select RE30": [rule.code for rule in rules() if rule.code.startswith("RE30")],
    "runnerctl lint --ignore RE315": ["RE315"],
    "runnerctl lint --select secret": ["secret-in-env"],
    "runnerctl explain RE315": ["RE315"],
    "runnerctl explain ": [rule.code for rule in rules()],
    "runnerctl compile --vllm 0.23": ["0.23.0"],
    "runnerctl nonsense": [],
    "runnerctl --ver": ["--version"],
}


@pytest.mark.parametrize("line", LINES)
def test_a_line(line: str) -> None:
    assert completed(line) == LINES[line]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [("runnerctl te", "test"), ("runnerctl test --junit", "--junit"), ("runnerctl schema ", "upgrade")],
)
def test_the_other_shells(words: str, wanted: str) -> None:
    """zsh hands the line over in another variable, and wants a description with each word."""
    done = subprocess.run(
        [RUNNERCTL],
        env={**os.environ, "_RUNNERCTL_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": words},
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.search(rf'(^|"){re.escape(wanted)}("|:|$)', done.stdout)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_that_a_shell_sources(shell: str) -> None:
    done = subprocess.run(
        [RUNNERCTL],
        env={**os.environ, "_RUNNERCTL_COMPLETE": f"source_{shell}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"_RUNNERCTL_COMPLETE=complete_{shell}" in done.stdout


def test_installing_it_for_the_shell_at_hand(tmp_path: Path) -> None:
    """Into the home folder of the bash that asks; a new bash then completes."""
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "PATH": f"{RUNNERCTL.parent}{os.pathsep}{os.environ['PATH']}",
    }
    install = ["bash", "-c", "runnerctl --install-completion; true"]
    subprocess.run(install, env=environment, capture_output=True, check=True)
    line = (
        'source "$HOME/.bashrc"; COMP_WORDS=(runnerctl sch); COMP_CWORD=1; '
        '_runnerctl_completion runnerctl; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "schema\n"
