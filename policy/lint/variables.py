"""Environment variables that policies set or ask for, and whether vLLM can use their values."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

from policy.lint.finding import Span
from policy.lint.knowledge import Releases
from policy.lint.subject import Subject
from policy.lint.text import PolicyText, Step
from policy.rules.match import is_glob

__all__ = ["Variable", "unusable", "variables"]

# What a variable that is declared `bool` may read: an integer, or the words that some of them take.
_WORDS = {"true", "false", "yes", "no", "on", "off", "t", "f", "y", "n", ""}


class Variable(NamedTuple):
    """One variable where it is set, or `matched`. `value` is None where a match asks for several, or for none.

    `reached` are the releases that see it: those of its rule, or the newest one for a variable of the whole policy.
    """

    file: PolicyText
    at: tuple[Step, ...]
    name: str
    value: str | None
    reached: Releases
    of_rule: bool
    matched: bool = False

    @property
    def key(self) -> Span:
        return self.file.span(*self.at, key=True)

    @property
    def span(self) -> Span:
        return self.file.span(*self.at)


@functools.lru_cache(maxsize=1)
def variables(subject: Subject) -> tuple[Variable, ...]:
    """The variables of every `env:` block, and those that matches ask for."""
    return tuple(_variables(subject))


def _variables(subject: Subject) -> Iterator[Variable]:
    newest = 1 << (len(subject.knowledge.names) - 1)
    for file in subject.files:
        for name, value in file.env.items():
            yield Variable(file, ("env", name), name, value, newest, of_rule=False)
    for rule in subject.rules:
        for name, value in rule.data.get("env", {}).items():
            at = ("rules", rule.index, "env", name)
            yield Variable(rule.file, at, name, value, subject.reach(rule), of_rule=True)
        for condition in rule.conditions:
            if condition.path.startswith("env."):
                asked = condition.value
                plain = asked if isinstance(asked, str) and not is_glob(asked) else None
                name = condition.path.removeprefix("env.")
                reached = subject.reach(rule)
                yield Variable(rule.file, condition.at, name, plain, reached, of_rule=True, matched=True)


def unusable(value: str, kind: str) -> str | None:
    """What a variable of this type takes, where `value` is none of it; None where it may be."""
    kinds = [k for k in kind.split("|") if k != "null"]
    if kinds == ["int"]:
        return None if _is(int, value) else "an integer"
    if kinds == ["float"]:
        return None if _is(float, value) else "a number"
    if kinds == ["bool"]:
        return None if value.lower() in _WORDS or _is(int, value) else "0 or 1"
    if any(k in ("str", "int", "float", "bool") or "[" in k for k in kinds):
        return None
    words = {k.lower() for k in kinds}
    return None if not value or value.lower() in words else "one of " + ", ".join(f"`{k}`" for k in kinds)


def _is(wanted: type[int] | type[float], value: str) -> bool:
    try:
        wanted(value)
    except ValueError:
        return False
    return True
