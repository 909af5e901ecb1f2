"""What a first policy is to say: from options, from questions on a terminal, and from the catalog."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import typer

from policy.decision import Decision, resolve
from policy.document import Source, parse
from policy.document.diagnostic import nearest
from policy.engine import Catalog, EngineRelease
from policy.facts.facts import Facts
from policy.rules.match import Glob, is_glob
from policy.rules.policy_set import PolicySet, compose, read_policy
from runnerctl.cli.exits import UsageError
from runnerctl.cli.first_policy import Answers, first_policy, line_before

__all__ = ["Given", "answered"]

SOME_MODEL = "LlamaForCausalLM"
OTHER_MODEL = "Qwen3ForCausalLM"
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
    architectures = _distinct(architectures)
    names = catalog.architecture_names(engine.release)
    models = _models(names, architectures, engine.release)
    other = _other(names, architectures) if require is not None else None
    answers = Answers(
        name, owner, engine.release, architectures, require, because, given.link or "", models, schema, other
    )
    return _with_answers_of(catalog, engine, answers)


def _with_answers_of(catalog: Catalog, engine: EngineRelease, answers: Answers) -> Answers:
    """The answers with what the catalog says to them. Raises `UsageError` for a runner that cannot be had."""
    own = _decided(PolicySet(), engine, answers)
    if own.runner is None:
        raise UsageError(f"--release {answers.release}: {own.errors[0].message}")
    before = line_before(answers.release)
    found = replace(
        answers,
        own=own.runner,
        switch=engine.switch != "none",
        before=before,
        before_described=isinstance(catalog.find(before), EngineRelease),
    )
    if found.require is None:
        return found
    text = first_policy(found, date.today())
    policies = compose([read_policy(parse(Source("the first policy", text)))])
    forced = _decided(policies, engine, found)
    if forced.status == "error":
        raise UsageError(f"--require {found.require}: {forced.errors[0].message}")
    return found


def _decided(policies: PolicySet, engine: EngineRelease, answers: Answers) -> Decision:
    """What the first of the models gets on the release that was asked for, where `engine` decides for it."""
    facts = {"vllm": answers.release, "model_config": {"architectures": [answers.models[0]]}}
    return resolve(policies, engine, Facts(facts))


def _distinct(architectures: Sequence[str]) -> tuple[str, ...]:
    """Each that is wanted once, and none that a pattern among them matches."""
    wanted = tuple(dict.fromkeys(architectures))
    globs = [Glob(word) for word in wanted if is_glob(word)]
    return tuple(
        word for word in wanted if not any(glob.pattern != word and glob.holds(word) for glob in globs)
    )


def _models(names: tuple[str, ...], wanted: tuple[str, ...], release: str) -> tuple[str, ...]:
    """An architecture for each that is wanted. A name that the release does not register may be out of tree."""
    found: dict[str, None] = {}
    for name in wanted or (SOME_MODEL,):
        matching = next((n for n in names if _is_about(name, n)), None) if is_glob(name) else name
        if matching is None:
            raise UsageError(f"--architecture {name}: vLLM {release} registers no name that it matches")
        found[matching] = None
        if wanted and names and not is_glob(name) and name not in names:
            help_ = nearest(name, names, limit=1) or "is it out of tree?"
            typer.echo(f"note: vLLM {release} does not register `{name}`; {help_}", err=True)
    return tuple(found)


def _other(names: tuple[str, ...], wanted: tuple[str, ...]) -> str | None:
    """An architecture that the rule is not about: of those that come first to mind, or any."""
    known = (name for name in (SOME_MODEL, OTHER_MODEL, *names) if name in names)
    return next((n for n in known if wanted and not any(_is_about(w, n) for w in wanted)), None)


def _is_about(wanted: str, name: str) -> bool:
    return Glob(wanted).holds(name) if is_glob(wanted) else name == wanted


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
