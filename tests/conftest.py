"""The command line and the resolver, as tests call them."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from policy.document import Source, parse
from policy.engine import Catalog
from policy.rules.policy_set import PolicySet, compose, read_policy

HEAD = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: NAME}\n"


@dataclass(frozen=True)
class Answer:
    """What one call of the command line left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return Catalog()


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Runs `runnerctl WORDS` in this process, through the entry point that the script calls."""
    from runnerctl.cli.main import run

    def call(*words: str | Path, stdin: bytes = b"") -> Answer:
        monkeypatch.setattr(sys, "argv", ["runnerctl", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
        capsys.readouterr()
        with pytest.raises(SystemExit) as leaving:
            run()
        captured = capsys.readouterr()
        code = leaving.value.code
        assert isinstance(code, int)
        return Answer(code, captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def policies() -> Callable[..., PolicySet]:
    """A policy set of one file: the rules as YAML flow mappings, one a line, and the `env:` block."""

    def build(rules: Sequence[str] = (), env: str = "{}", name: str = "fleet") -> PolicySet:
        text = (
            HEAD.replace("NAME", name) + f"env: {env}\nrules:\n" + "".join(f"  - {rule}\n" for rule in rules)
        )
        text = text if rules else text.replace("rules:\n", "rules: []\n")
        return compose([read_policy(parse(Source(f"{name}.yaml", text)))])

    return build
