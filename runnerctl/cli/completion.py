"""What a shell asks to complete: the words so far, and values that are known by heart."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["formats_of_lint", "lint_rules", "releases", "schemas", "verb_in_progress"]


def verb_in_progress(environment: Mapping[str, str]) -> list[str]:
    """The verb whose options are completed, as the words of a command line; empty while it is being typed itself."""
    line = environment.get("_TYPER_COMPLETE_ARGS") or environment.get("COMP_WORDS", "")
    words = line.split()
    typed = len(words) - (0 if line[-1:].isspace() else 1)
    if "COMP_CWORD" in environment and environment["COMP_CWORD"].isdigit():
        typed = int(environment["COMP_CWORD"])
    return words[1:2] if typed > 1 else []


def schemas(incomplete: str) -> list[str]:
    """The names of schemas that begin so."""
    from policy.document.schema import SCHEMAS

    return [name for name in SCHEMAS if name.startswith(incomplete)]


def releases(incomplete: str) -> list[str]:
    """The releases of the shipped catalog that begin so, the newest first."""
    from policy.engine import Catalog

    return [release for release in reversed(Catalog().releases) if release.startswith(incomplete)]


def formats_of_lint(incomplete: str) -> list[str]:
    """The formats of lint that begin so."""
    from runnerctl.cli.linting import FORMATS

    return [name for name in FORMATS if name.startswith(incomplete)]


def lint_rules(incomplete: str) -> list[str]:
    """The codes of the rules of lint that begin so, or their names; codes where nothing was typed yet."""
    from policy.lint.registry import rules

    codes = [rule.code for rule in rules() if rule.code.startswith(incomplete)]
    return codes or [rule.name for rule in rules() if rule.name.startswith(incomplete)]
