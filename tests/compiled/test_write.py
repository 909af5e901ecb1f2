"""Writing a result: whole or untouched, and what is no regular file stays what it is."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from policy.compiled.artifact import write_atomically


def test_a_link_is_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    write_atomically(link, "new")
    assert (link.is_symlink(), target.read_text()) == (True, "new")


def test_permissions_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "secret.json"
    path.touch(0o600)
    write_atomically(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_atomically(pipe, "through")
    reader.join(10)
    assert (read, stat.S_ISFIFO(pipe.stat().st_mode)) == (["through"], True)


def test_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "policy.json"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, "new")
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]
