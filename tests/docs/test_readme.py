"""The examples in README.md are what the program prints today."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from policy.decision import resolve
from policy.document import Source, parse
from policy.engine import Catalog
from policy.facts.facts import Facts, nest
from policy.rules.policy_set import compose, read_policy

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def consoles() -> list[tuple[str, str]]:
    """(command, output) of each `console` block that runs anywhere: those of `resolve`."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        command, _, output = block.replace("\\\n", " ").partition("\n")
        if command.startswith("$ runnerctl resolve"):
            found.append((command.removeprefix("$ runnerctl "), output))
    return found


@pytest.mark.parametrize(("command", "output"), consoles())
def test_console_examples(command: str, output: str) -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "runnerctl", *shlex.split(command)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == output
    assert done.returncode == 0


@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", README, re.DOTALL))
def test_policies_in_the_readme_pass_their_own_tests(text: str) -> None:
    policies = compose([read_policy(parse(Source("README.md", text)))])
    for test in policies.files[0].tests:
        facts = Facts(nest(test.given))
        decision = resolve(policies, Catalog().find(facts.value("vllm")), facts)
        assert decision.decided_by is not None
        assert (decision.runner, decision.decided_by.rule) == (test.expect["runner"], test.expect["rule"])


def test_there_is_something_to_check() -> None:
    assert consoles()
    assert "```yaml" in README
