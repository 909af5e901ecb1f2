"""Policy files as they are in a commit. Reads with `git`, touches neither the index nor the working tree."""

from __future__ import annotations

import os
import posixpath
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from policy.document.diagnostic import Diagnostic, DocumentError
from policy.document.source import decode, parse
from policy.rules.policy_set import PolicyFile, PolicySet, compose, read_policy
from runnerctl.cli.exits import UsageError

__all__ = ["policies_at"]

LINK = "120000"


def policies_at(revision: str, paths: Sequence[str]) -> PolicySet:
    """The policy set of `paths`, files and folders, as the commit `revision` has them; empty where it has none.

    Raises `UsageError` where there is no repository or no such commit, `DocumentError` for what cannot be used.
    """
    files: dict[tuple[str, str], PolicyFile] = {}
    findings: list[Diagnostic] = []
    for given in paths:
        top = _top(given)
        commit = _commit(top, revision)
        for name, raw in _blobs(top, commit, _inside(top, given)):
            if (top, name) in files:
                continue
            shown = f"{revision}:{name}"
            try:
                files[top, name] = read_policy(parse(decode(shown, raw)))
            except DocumentError as error:
                findings.extend(error.diagnostics)
    if findings:
        raise DocumentError(findings)
    return compose(files.values())


def _git(folder: str, *words: str) -> bytes | None:
    """What git prints; None where it fails."""
    try:
        done = subprocess.run(
            ["git", "-C", folder, *words],  # noqa: S607  (whichever git the operator uses)
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise UsageError("--git: git is not installed") from error
    return done.stdout if done.returncode == 0 else None


def _top(given: str) -> str:
    """The folder of the repository that holds a path, which itself may be gone from the working tree."""
    folder = Path(given).absolute()
    while not folder.is_dir():
        folder = folder.parent
    found = _git(str(folder), "rev-parse", "--show-toplevel")
    if found is None:
        raise UsageError(f"--git: {given} is not in the working tree of a git repository")
    return os.fsdecode(found).rstrip("\n")


def _commit(top: str, revision: str) -> str:
    found = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if found is None:
        raise UsageError(f"--git {revision}: no such commit in {top}")
    return found.decode().strip()


def _inside(top: str, given: str) -> str:
    path = Path(given).absolute()
    real = path.parent.resolve() / path.name
    return PurePosixPath(os.path.relpath(real, Path(top).resolve())).as_posix()


def _blobs(top: str, commit: str, path: str) -> Iterator[tuple[str, bytes]]:
    """The policy files at or below a path of a commit: a file as it is named, of a folder what looks like one."""
    listed = _git(top, "ls-tree", "-r", "-z", "--full-tree", commit, *([] if path == "." else ["--", path]))
    for entry in (listed or b"").split(b"\0"):
        head, _, raw_name = entry.partition(b"\t")
        name = os.fsdecode(raw_name)
        if not name or (name != path and not _is_policy(name)):
            continue
        mode, kind, _ = head.decode().split()
        if kind == "blob":
            yield name, _content(top, commit, name, is_link=mode == LINK)


def _is_policy(name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix.lower() in (".yaml", ".yml") and not path.stem.endswith("_test")


def _content(top: str, commit: str, name: str, *, is_link: bool) -> bytes:
    """The bytes of a file; of a link, those of the file that it leads to in the same commit."""
    raw = _git(top, "cat-file", "blob", f"{commit}:{name}") or b""
    if not is_link:
        return raw
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), os.fsdecode(raw)))
    found = _git(top, "cat-file", "blob", f"{commit}:{target}")
    if found is None:
        raise UsageError(f"--git: {name} is a link to {os.fsdecode(raw)}, which the commit does not have")
    return found
