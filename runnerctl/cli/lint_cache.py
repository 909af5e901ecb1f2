"""What lint found in the same files before: by their content, the rules, the catalog, the options and the day.

A run that finds its answer here imports neither YAML nor the rules. Whatever is odd (a file that cannot be read, a
cache that cannot be written, or holds something else) is answered by looking anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from policy.bounded import MAX_BYTES, read_bounded
from policy.lint.finding import Finding, finding_from_json
from policy.rules.files import policies_below, tests_of

__all__ = ["LintCache", "plainly_read"]

# Results are small; these many are the last weeks of a busy repository.
MOST_KEPT = 64

RawFile = tuple[str, bytes]


def plainly_read(paths: Sequence[str]) -> list[RawFile] | None:
    """Each policy file of `paths` and its tests once, with their content, in the order of their names.

    None where that takes a closer look: standard input, a path or file that cannot be read, a folder without policies.
    """
    found: dict[str, RawFile] = {}
    folders: dict[str, str] = {}
    try:
        for given in paths:
            if not given or given == "-":
                return None
            listed = policies_below(given) if os.path.isdir(given) else [Path(given)]  # noqa: PTH112
            if not listed:
                return None
            for path in (*listed, *tests_of(given)):
                real = _real(path, folders)
                if real not in found:
                    with path.open("rb") as file:
                        found[real] = (str(path), read_bounded(file, MAX_BYTES))
    except OSError:
        return None
    if any(len(content) > MAX_BYTES for _, content in found.values()):
        return None
    return sorted(found.values())


def _real(path: Path, folders: dict[str, str]) -> str:
    """What `path` is in the end. `folders` are those known: asking anew for each file walks up to the root."""
    text = str(path)
    if os.path.islink(text):  # noqa: PTH114
        return os.path.realpath(text)
    folder, name = os.path.split(text)
    real = folders.get(folder)
    if real is None:
        real = folders[folder] = os.path.realpath(folder)
    return os.path.join(real, name)  # noqa: PTH118


class LintCache:
    """One question and where its answer would be kept."""

    def __init__(self, files: Sequence[RawFile], question: Sequence[object], catalog: str | None) -> None:
        """`question` is everything else that the answer depends on, in a form that JSON can write."""
        import hashlib

        # Findings hold names as this process decoded them: the same bytes are another name in another locale.
        digest = hashlib.sha256(json.dumps([question, sys.getfilesystemencoding()]).encode())
        for line in (*_tool(), *(_state(Path(catalog)) if catalog else ())):
            digest.update(line.encode("utf-8", "surrogateescape"))
        for name, content in files:
            digest.update(f"{name}\0{len(content)}\0".encode("utf-8", "surrogateescape"))
            digest.update(content)
        self._folder = _cache_home() / "runnerctl" / "lint"
        self._path = self._folder / f"{digest.hexdigest()}.json"

    def get(self) -> tuple[Finding, ...] | None:
        """The findings of the same question before, or None."""
        try:
            kept = json.loads(self._path.read_bytes())
            return tuple(map(finding_from_json, kept)) if isinstance(kept, list) else None
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def put(self, findings: Sequence[Finding]) -> None:
        """Keep an answer; nothing happens where that cannot be."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside = self._path.with_suffix(f".{os.getpid()}.tmp")
            beside.write_text(json.dumps(findings), "utf-8")
            beside.replace(self._path)
            self._drop_old()

    def _drop_old(self) -> None:
        kept = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in kept[MOST_KEPT:]:
            path.unlink(missing_ok=True)


def _cache_home() -> Path:
    given = os.environ.get("XDG_CACHE_HOME", "")
    return Path(given) if os.path.isabs(given) else Path(os.path.expanduser("~/.cache"))  # noqa: PTH111, PTH117


def _tool() -> Iterator[str]:
    """This program as it stands on the disk: a checkout changes without its version doing so."""
    yield from _state(Path(__file__).resolve().parents[2] / "policy")
    yield from _state(Path(__file__).resolve().parents[2] / "schemas")


def _state(folder: Path) -> Iterator[str]:
    """Each file below a folder, with its size and when it was written."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _state(Path(entry.path))
        else:
            held = entry.stat()
            yield f"{entry.path}\0{held.st_size}\0{held.st_mtime_ns}\0"
