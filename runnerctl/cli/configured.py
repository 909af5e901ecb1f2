"""Which policies a verb works on where none are named: what the project's settings say, or `configs/`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from policy.input_error import reason_of
from runnerctl.cli.exits import UsageError

__all__ = ["DEFAULT_FOLDER", "Settings", "find_settings", "policy_paths_here"]

DEFAULT_FOLDER = "configs"
# What `runnerctl.toml`, or `[tool.runnerctl]` of pyproject.toml, may hold.
KNOWN = ("policies", "lint")


class Settings(NamedTuple):
    """The settings of a project: the file that holds them, and its table as plain values."""

    path: Path
    table: Mapping[str, Any]


def policy_paths_here(start: Path) -> list[str]:
    """The policy files and folders of the project around the folder `start`, relative to it.

    They are those of `policies = [...]` in the settings that `find_settings` finds, relative to their file; without
    settings, `configs/` in `start`. Raises `UsageError` when the settings cannot be used, or there is neither.
    """
    settings = find_settings(start)
    if settings is not None and "policies" in settings.table:
        return _listed(settings, start)
    if (start / DEFAULT_FOLDER).is_dir():
        return [DEFAULT_FOLDER]
    raise UsageError(
        f"nothing to check: no path is given, there is no folder `{DEFAULT_FOLDER}` here, and neither runnerctl.toml "
        "(`policies = [...]`) nor pyproject.toml (`[tool.runnerctl]`) names policies"
    )


def find_settings(start: Path) -> Settings | None:
    """The nearest settings: of `start` or of a folder above it, up to the one that holds `.git`.

    In each folder `runnerctl.toml` comes before pyproject.toml, and a pyproject.toml without `[tool.runnerctl]` is
    none. Raises `UsageError` for a file that is not TOML, or holds a setting that does not exist.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        for settings in _in_folder(folder):
            _check(settings)
            return settings
        if (folder / ".git").exists():
            return None
    return None


def _in_folder(folder: Path) -> Iterator[Settings]:
    own = folder / "runnerctl.toml"
    if own.is_file():
        yield Settings(own, _read(own))
    shared = folder / "pyproject.toml"
    if shared.is_file():
        tool = _read(shared).get("tool", {})
        if isinstance(tool, dict) and "runnerctl" in tool:
            yield Settings(shared, tool["runnerctl"])


def _read(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {reason_of(error)}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: the file is not UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        raise UsageError(f"{path}: not valid TOML: {message[:1].lower()}{message[1:]}") from error


def _check(settings: Settings) -> None:
    if not isinstance(settings.table, dict):
        raise UsageError(f"{settings.path}: `runnerctl` is not a table; write `[tool.runnerctl]`")
    for name in settings.table:
        if name not in KNOWN:
            from policy.document.diagnostic import nearest

            help_ = nearest(name, KNOWN) or "known here: " + ", ".join(f"`{k}`" for k in KNOWN)
            raise UsageError(f"{settings.path}: unknown setting `{name}`; {help_}")


def _listed(settings: Settings, start: Path) -> list[str]:
    listed = settings.table["policies"]
    if not isinstance(listed, list) or not all(isinstance(entry, str) and entry for entry in listed):
        raise UsageError(f'{settings.path}: `policies` is a list of paths, such as ["configs"]')
    if not listed:
        raise UsageError(f"{settings.path}: `policies` is empty: nothing to check")
    return [_from_start(settings.path.parent / entry, start) for entry in listed]


def _from_start(path: Path, start: Path) -> str:
    """The path as somebody in `start` would write it."""
    return os.path.relpath(path, start.resolve())
