"""The options of `runnerctl lint` as plain values, and a reader of them that needs no library.

Typer's start is longer than the lint of two hundred files. Plain words are read here; whatever is not plain (`--help`,
a mistake, a completion) is Typer's, whose function in `runnerctl.cli.lint` has the same options: a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["FLAGS", "LISTS", "PATHS", "VALUES", "plain_options"]

PATHS = "paths"
FLAGS: Mapping[str, str] = {"--fix": "fix", "--diff": "diff", "--no-cache": "no_cache"}
VALUES: Mapping[str, str] = {
    "--format": "format_",
    "--baseline": "baseline",
    "--write-baseline": "write_baseline",
    "--stdin-filename": "stdin_filename",
    "--today": "today",
    "--catalog": "catalog",
}
LISTS: Mapping[str, str] = {"--select": "select", "--ignore": "ignore"}


def plain_options(words: Sequence[str]) -> dict[str, Any] | None:
    """The options by the names of their parameters, or None where the words are not plain."""
    found: dict[str, Any] = {}
    paths: list[str] = []
    left = iter(words)
    for word in left:
        name, equals, value = word.partition("=")
        if word == "--":
            paths.extend(left)
        elif not word.startswith("-") or word == "-":
            paths.append(word)
        elif word in FLAGS:
            found[FLAGS[word]] = True
        elif name in VALUES or name in LISTS:
            given = value if equals else next(left, None)
            if given is None or (not equals and given.startswith("-")):
                return None
            if name in VALUES:
                found[VALUES[name]] = given
            else:
                found.setdefault(LISTS[name], []).append(given)
        else:
            return None
    return {**found, PATHS: paths} if paths else found
