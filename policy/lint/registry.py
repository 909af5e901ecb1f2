"""The one registry of lint rules: what each is called, how bad it is, and which part of its life it is in."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from policy.document.diagnostic import nearest
from policy.input_error import InputError
from policy.lint.finding import Finding, Fix, Related, Severity, Span
from policy.lint.rules import ANALYSED, CHECKED, READ

if TYPE_CHECKING:
    from policy.lint.subject import Subject

__all__ = [
    "FAMILIES",
    "Check",
    "Rule",
    "Selection",
    "UnknownRuleError",
    "by_name",
    "checks",
    "find_rule",
    "rules",
]

Stage = Literal["preview", "stable", "deprecated", "removed"]
Check = Callable[["Subject"], Iterator[Finding]]

# The first two letters of a code and its hundred say the family.
FAMILIES: Mapping[str, str] = {"RD1": "document", "RM2": "meaning", "RE3": "engine", "RH4": "hygiene"}


class UnknownRuleError(InputError):
    """A code, a prefix of codes or a name that no rule has."""


class Rule(NamedTuple):
    """A rule of lint. Its page is the docstring of its module, its check the function `check` there.

    A rule without a check is found while files are read. `since` is the version of runnerctl in which the rule came
    to its `stage`. A file with a finding of an `unread` rule could not be checked: lint then exits with 2, and
    nothing hides the finding. One of a `mutual` rule is as much about its related places as about its own.
    """

    code: str
    name: str
    severity: Severity
    summary: str
    stage: Stage = "stable"
    since: str = "0.1.0"
    unread: bool = False
    mutual: bool = False

    @property
    def family(self) -> str:
        return FAMILIES[self.code[:3]]

    def finding(
        self,
        span: Span,
        message: str,
        help: str = "",  # noqa: A002  (the field's own name)
        *,
        related: Iterable[Related] = (),
        fix: Fix | None = None,
        severity: Severity | None = None,
    ) -> Finding:
        """A finding of this rule."""
        return Finding(
            self.code, self.name, severity or self.severity, message, span, help, tuple(related), fix
        )

    @property
    def page(self) -> str:
        """What, why, an example that fails and one that passes, as Markdown."""
        text = (_module(self.name).__doc__ or "").strip()
        title, _, body = text.partition("\n")
        life = "" if self.stage == "stable" else f", {self.stage}"
        head = f"# {self.code} {self.name}\n\n{self.family}, {self.severity}, since {self.since}{life}\n"
        return f"{head}\n{title}\n{body}\n" if body else f"{head}\n{title}\n"


def _module(name: str) -> Any:
    return importlib.import_module(f"policy.lint.rules.{name.replace('-', '_')}")


@functools.cache
def rules() -> tuple[Rule, ...]:
    """Every rule, by code."""
    stems = (*CHECKED, *ANALYSED, *READ)
    return tuple(sorted((_module(stem).RULE for stem in stems), key=lambda rule: rule.code))


def checks(stems: Iterable[str] = (*CHECKED, *ANALYSED)) -> Iterator[tuple[Rule, Check]]:
    """Every rule that has a check, with it, or those of some files."""
    for stem in stems:
        module = _module(stem)
        yield module.RULE, module.check


@functools.cache
def by_name() -> Mapping[str, Rule]:
    """Every rule by its name."""
    return {rule.name: rule for rule in rules()}


def find_rule(word: str) -> Rule:
    """The rule with this code or name. Raises `UnknownRuleError`."""
    for rule in rules():
        if word.upper() == rule.code or word.lower() == rule.name:
            return rule
    raise UnknownRuleError(_unknown(word))


class Selection:
    """The rules of one run. What could not be read is always one of them."""

    def __init__(self, select: Iterable[str] = (), ignore: Iterable[str] = ()) -> None:
        """Those of `select`, or every stable one, less those of `ignore`.

        Words are codes, prefixes of codes (`RE3`), families, names or `ALL`. Raises `UnknownRuleError` for a word
        that is none.
        """
        chosen, dropped = list(select), list(ignore)
        self._chosen = set().union(*map(_matching, chosen)) if chosen else None
        self._dropped = set().union(*map(_matching, dropped))

    def __contains__(self, rule: Rule) -> bool:
        if rule.unread:
            return True
        wanted = rule.stage == "stable" if self._chosen is None else rule.code in self._chosen
        return wanted and rule.code not in self._dropped


def _matching(word: str) -> set[str]:
    found = {
        rule.code
        for rule in rules()
        if word == "ALL"
        or (word and rule.code.startswith(word.upper()))
        or word.lower() in (rule.name, rule.family)
    }
    if not found:
        raise UnknownRuleError(_unknown(word))
    return found


def _unknown(word: str) -> str:
    known = [name for rule in rules() for name in (rule.code, rule.name)]
    help_ = nearest(word.upper(), known) or nearest(word.lower(), known) or "`runnerctl explain` lists them"
    return f"no rule `{word}`; {help_}"
