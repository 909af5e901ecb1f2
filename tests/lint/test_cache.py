"""The cache of lint: the same answer in less time, and never another one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from policy.engine import Catalog

POLICY = """apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {name: p, owner: team}
rules:
  - {id: a, match: {vllm: "<0.23", labels.team: a}, runner: v1, expires: 2027-01-15}
  - {id: b, match: {vllm: ">=0.23", labels.team: a}, runner: v1, enforce: prefer}
"""
DAY = ["--today", "2027-01-01"]


@pytest.fixture
def ran(here: Path) -> Path:
    (here / "p.yaml").write_text(POLICY)
    return here


def kept(here: Path) -> list[Path]:
    return sorted((here / ".cache" / "runnerctl" / "lint").glob("*"))


@pytest.mark.parametrize("format_", ["text", "json", "sarif", "github", "junit"])
def test_the_answer_is_the_same(cli: Callable[..., Any], ran: Path, format_: str) -> None:
    words = ["lint", "p.yaml", *DAY, "--format", format_]
    anew = cli(*words, "--no-cache")
    assert kept(ran) == []
    first = cli(*words)
    assert len(kept(ran)) == 1
    assert anew == first == cli(*words)
    assert anew.code == 1
    assert "RE305" in anew.out


def test_an_answer_is_really_taken_from_it(cli: Callable[..., Any], ran: Path) -> None:
    cli("lint", "p.yaml", *DAY)
    (path,) = kept(ran)
    path.write_text("[]")
    assert cli("lint", "p.yaml", *DAY).code == 0
    assert cli("lint", "p.yaml", *DAY, "--no-cache").code == 1


def another_text(here: Path) -> list[str]:
    (here / "p.yaml").write_text(POLICY.replace("id: a", "id: c"))
    return ["p.yaml", *DAY]


def another_file(here: Path) -> list[str]:
    (here / "q.yaml").write_text(POLICY.replace("name: p", "name: q").replace("id: ", "id: q"))
    return ["p.yaml", "q.yaml", *DAY]


def another_name(here: Path) -> list[str]:
    (here / "p.yaml").rename(here / "q.yaml")
    return ["q.yaml", *DAY]


def another_catalog(here: Path) -> list[str]:
    shutil.copytree(Catalog().folder / "releases", here / "catalog" / "releases")
    return ["p.yaml", *DAY, "--catalog", "catalog"]


CHANGES: dict[str, Callable[[Path], list[str]]] = {
    "another text": another_text,
    "another file": another_file,
    "another name": another_name,
    "another catalog": another_catalog,
    "another day": lambda _: ["p.yaml", "--today", "2027-01-02"],
    "another selection": lambda _: ["p.yaml", *DAY, "--select", "RE3"],
    "another exception": lambda _: ["p.yaml", *DAY, "--ignore", "RE305"],
}


@pytest.mark.parametrize("case", CHANGES)
def test_whatever_matters_is_looked_at_anew(cli: Callable[..., Any], ran: Path, case: str) -> None:
    cli("lint", "p.yaml", *DAY)
    words = CHANGES[case](ran)
    answer = cli("lint", *words)
    assert len(kept(ran)) == 2
    assert answer == cli("lint", *words, "--no-cache")


@pytest.mark.parametrize("format_", ["text", "json", "sarif", "github", "junit"])
def test_another_locale_decodes_names_anew(ran: Path, format_: str) -> None:
    """A name that is two bytes in one locale is a letter in another: neither run reads what the other kept."""
    (ran / "p.yaml").rename(ran / "ü.yaml")
    words = [Path(sys.executable).parent / "runnerctl", "lint", "ü.yaml", *DAY, "--format", format_]

    def answer(locale: str) -> tuple[int, bytes]:
        env = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0"}
        done = subprocess.run(words, env=env, capture_output=True, check=False)
        assert b"Traceback" not in done.stderr
        return done.returncode, done.stdout

    locales = ["C", "C.UTF-8"]
    alone = {}
    for locale in locales:
        alone[locale] = answer(locale)
        shutil.rmtree(ran / ".cache")
    for locale in [*locales, *locales]:
        assert answer(locale) == alone[locale]
    if format_ == "sarif":
        assert all(b'"%C3%BC.yaml"' in out for _, out in alone.values())


def test_the_catalog_counts_by_what_is_in_it(cli: Callable[..., Any], ran: Path) -> None:
    words = [*another_catalog(ran)]
    cli("lint", *words)
    (ran / "catalog" / "releases" / "0.33.0.yaml").unlink()
    cli("lint", *words)
    assert len(kept(ran)) == 2


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[1]", b"[[]]", b"\xff"])
def test_what_is_broken_is_looked_at_anew(cli: Callable[..., Any], ran: Path, content: bytes) -> None:
    before = cli("lint", "p.yaml", *DAY)
    (path,) = kept(ran)
    path.write_bytes(content)
    assert cli("lint", "p.yaml", *DAY) == before


def unwritable(here: Path) -> None:
    (here / ".cache").write_text("a file where the folder should be")


def nowhere(_: Path) -> None:
    """`XDG_CACHE_HOME` names a device."""


@pytest.mark.parametrize("prepare", [unwritable, nowhere])
def test_without_a_place_for_it(
    cli: Callable[..., Any], ran: Path, prepare: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(ran)
    if prepare is nowhere:
        monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    answer = cli("lint", "p.yaml", *DAY)
    assert (answer.code, answer.err) == (1, cli("lint", "p.yaml", *DAY, "--no-cache").err)


def test_what_cannot_be_read_is_not_kept(cli: Callable[..., Any], ran: Path) -> None:
    (ran / "q.yaml").write_bytes(b"\xff")
    assert cli("lint", "p.yaml", "q.yaml", *DAY).code == 2
    assert cli("lint", "p.yaml", "missing.yaml", *DAY).code == 2
    assert kept(ran) == []


def test_old_answers_are_dropped(cli: Callable[..., Any], ran: Path) -> None:
    from runnerctl.cli.lint_cache import MOST_KEPT

    folder = ran / ".cache" / "runnerctl" / "lint"
    folder.mkdir(parents=True)
    for i in range(MOST_KEPT + 5):
        (folder / f"{i}.json").write_text("[]")
    cli("lint", "p.yaml", *DAY)
    assert len(kept(ran)) == MOST_KEPT


def modules(*words: str) -> Iterator[str]:
    program = f"import sys; sys.argv = ['runnerctl', *{list(words)!r}]\nfrom runnerctl.cli.main import run\n"
    program += "try:\n    run()\nexcept SystemExit:\n    print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    yield from done.stdout.splitlines()


def test_what_a_run_does_not_import(ran: Path) -> None:
    """The figures of benchmarks/lint.py rest on this."""
    (ran / "p.yaml").write_text(POLICY.split("rules:", maxsplit=1)[0] + "rules: []\n")
    first = set(modules("lint", "p.yaml"))
    assert "policy.lint.lint" in first
    assert first.isdisjoint(
        {"typer", "pydantic", "jsonschema", "policy.lint.rules.yaml_tag", "policy.lint.spans"}
    )
    assert first.isdisjoint({"dataclasses", "inspect"})  # 10 ms
    again = set(modules("lint", "p.yaml"))
    assert again.isdisjoint({"typer", "yaml", "jsonschema_rs", "policy.lint.lint", "policy.document"})
