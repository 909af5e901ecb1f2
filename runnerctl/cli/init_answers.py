"""What a first policy is to say: from options, from questions on a terminal, and from the catalog."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import typer

from policy.decision import resolve
from policy.document.diagnostic import nearest
from policy.engine import Catalog, EngineRelease
from policy.facts.facts import Facts
from policy.rules.match import is_glob
from policy.rules.policy_set import PolicySet
from runnerctl.cli.exits import UsageError
from runnerctl.cli.first_policy import Answers

__all__ = ["Given", "answered"]

SOME_MODEL = "LlamaForCausalLM"
RUNNERS = ("v1", "v2", "engine")


@dataclass(frozen=True, slots=True)
class Given:
    """What the options say; None, or nothing, where they do not."""

    name: str | None
    owner: str | None
    release: str | None
    architectures: tuple[str, ...]
    require: str | None
    because: str | None
    link: str | None


def answered(given: Given, target: Path, schema: str, *, ask: bool) -> Answers:
    """Everything that the policy for `target` needs. With `ask`, what no option says is asked on standard error.

    Raises `UsageError` for what cannot be used, before anything is written.
    """
    catalog = Catalog()
    name = _or_ask(given.name, "name of the policy", _stem(target), ask=ask)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise UsageError(
            f"--name {name}: letters, digits, `.`, `_` and `-`, beginning with a letter or a digit"
        )
    owner = _or_ask(given.owner, "team that answers for it (blank: nobody yet)", "", ask=ask)
    release = _or_ask(given.release, "vLLM release that you run", catalog.releases[-1], ask=ask)
    engine = catalog.find(release)
    if not isinstance(engine, EngineRelease):
        raise UsageError(f"--release {release}: {engine.reason}")
    require = given.require or _asked_runner(ask=ask)
    architectures = given.architectures
    if require is not None and not architectures and ask:
        said = _ask("architectures that the rule is about, with commas between (blank: every model)", "")
        architectures = tuple(word.strip() for word in said.split(",") if word.strip())
    because = given.because or ""
    if require is not None and not because:
        because = _ask("why", "") if ask else ""
        if not because:
            raise UsageError("--because TEXT is missing: a rule that requires a runner says why")
    if require is None and (given.because or given.link or given.architectures):
        raise UsageError(
            "--architecture, --because and --link are about a rule; give --require v1|v2|engine, too"
        )
    model = _model(catalog.architecture_names(engine.release), architectures, engine.release)
    answers = Answers(
        name, owner, engine.release, architectures, require, because, given.link or "", model, "", schema
    )
    return _with_own_choice(answers, engine)


def _with_own_choice(answers: Answers, engine: EngineRelease) -> Answers:
    from dataclasses import replace

    facts = Facts({"vllm": answers.release, "model_config": {"architectures": [answers.model]}})
    own = resolve(PolicySet(), engine, facts)
    if own.runner is None:
        raise UsageError(f"--release {answers.release}: {own.errors[0].message}")
    return replace(answers, own=own.runner)


def _model(names: tuple[str, ...], wanted: tuple[str, ...], release: str) -> str:
    """An architecture that the tests are about. A name that the release does not register may be out of tree."""
    if not wanted:
        return SOME_MODEL
    first = wanted[0]
    if is_glob(first):
        found = next((name for name in names if fnmatchcase(name, first)), None)
        if found is None:
            raise UsageError(f"--architecture {first}: vLLM {release} registers no name that it matches")
        return found
    for name in wanted:
        if names and not is_glob(name) and name not in names:
            help_ = nearest(name, names, limit=1) or "is it out of tree?"
            typer.echo(f"note: vLLM {release} does not register `{name}`; {help_}", err=True)
    return first


def _asked_runner(*, ask: bool) -> str | None:
    while ask:
        said = _ask("runner that a first rule requires: v1, v2, engine (blank: no rule yet)", "")
        if said in RUNNERS:
            return said
        if not said:
            return None
        typer.echo(f"`{said}` is no runner", err=True)
    return None


def _or_ask(given: str | None, question: str, default: str, *, ask: bool) -> str:
    if given is not None:
        return given
    return _ask(question, default) if ask else default


def _ask(question: str, default: str) -> str:
    """The answer that is typed, `default` for an empty line. Nothing goes to standard output."""
    typer.echo(f"{question}{f' [{default}]' if default else ''}: ", nl=False, err=True)
    line = sys.stdin.readline()
    if not line:
        raise UsageError("no answer: standard input has ended; nothing is written")
    return line.strip() or default


def _stem(target: Path) -> str:
    """A name after the file, or after the folder where the file says nothing."""
    stem = target.stem if target.stem != "policy" else target.resolve().parent.name
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._") or "policy"
