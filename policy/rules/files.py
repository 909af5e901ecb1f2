"""Which files of a folder are policies. Imports nothing of the rest: a look into a cache costs no more than this."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

__all__ = ["SUFFIXES", "policies_below", "tests_of"]

SUFFIXES = (".yaml", ".yml")


def policies_below(folder: str | Path) -> list[Path]:
    """Every `*.yaml` and `*.yml` below a folder but `*_test.*`, sorted. Raises `OSError` for one that cannot be read.

    A policy in a folder that is passed over would be missed.
    """
    return sorted(path for path in _below(folder) if _is_policy(path))


def tests_of(path: str | Path) -> list[Path]:
    """The test files that go with a policy file or a folder of policies, sorted."""
    given = Path(path)
    if given.is_dir():
        return sorted(
            p for p in _below(given) if p.suffix in SUFFIXES and p.stem.endswith("_test") and p.is_file()
        )
    beside = (given.with_name(f"{given.stem}_test{suffix}") for suffix in SUFFIXES)
    return [p for p in beside if given.name and p.is_file()]


def _below(folder: str | Path) -> Iterator[Path]:
    def refuse(error: OSError) -> NoReturn:
        raise error

    for top, _, names in os.walk(folder, onerror=refuse):
        yield from (Path(top, name) for name in names)


def _is_policy(path: Path) -> bool:
    """By its name; a link that leads nowhere counts, so that reading it says so."""
    named = path.suffix.lower() in SUFFIXES and not path.stem.endswith("_test")
    return named and (path.is_file() or not path.exists())
