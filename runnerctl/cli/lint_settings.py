"""What `lint` reads from the project's settings: `[lint]` of runnerctl.toml, `[tool.runnerctl.lint]` of pyproject.toml."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from runnerctl.cli.configured import find_settings
from runnerctl.cli.exits import UsageError

__all__ = ["LintSettings", "lint_settings"]

KNOWN = ("select", "ignore", "baseline")


class LintSettings(NamedTuple):
    """`baseline` is relative to the folder of the run, `path` the file that says so."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    baseline: str | None = None
    path: Path | None = None

    @property
    def words(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The rules that are selected, and those that are ignored."""
        return self.select, self.ignore


def lint_settings(start: Path) -> LintSettings:
    """The settings around the folder `start`. Raises `UsageError` where they cannot be used."""
    settings = find_settings(start)
    table = {} if settings is None else settings.table.get("lint", {})
    if settings is None or not table:
        return LintSettings()
    if not isinstance(table, dict):
        raise UsageError(f"{settings.path}: `lint` is not a table")
    for name in table:
        if name not in KNOWN:
            from policy.document.diagnostic import nearest

            help_ = nearest(name, KNOWN) or "known here: " + ", ".join(f"`{k}`" for k in KNOWN)
            raise UsageError(f"{settings.path}: unknown setting `lint.{name}`; {help_}")
    lists = {}
    for name in ("select", "ignore"):
        value = table.get(name, [])
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise UsageError(f'{settings.path}: `lint.{name}` is a list of rules, such as ["RH402"]')
        lists[name] = tuple(value)
    baseline = table.get("baseline")
    if baseline is not None:
        if not isinstance(baseline, str) or not baseline:
            raise UsageError(f"{settings.path}: `lint.baseline` is the path of a file")
        baseline = os.path.relpath(settings.path.parent / baseline, start.resolve())
    return LintSettings(lists["select"], lists["ignore"], baseline, settings.path)
