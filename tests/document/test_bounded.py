"""Files are read up to a bound, whatever they say of their size."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.bounded import read_bounded

MOST = 100
FILES = {
    "empty": (b"", b""),
    "a policy": (b"a: 1\n", b"a: 1\n"),
    "just the bound": (b"x" * MOST, b"x" * MOST),
    "one more": (b"x" * (MOST + 1), b"x" * (MOST + 1)),
    "many more": (b"x" * 10 * MOST, b"x" * (MOST + 1)),
}


@pytest.mark.parametrize(("content", "read"), FILES.values(), ids=FILES.keys())
def test_a_file_on_the_disk(tmp_path: Path, content: bytes, read: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with (tmp_path / "file").open("rb") as file:
        assert read_bounded(file, MOST) == read


@pytest.mark.parametrize(("device", "length"), [("/dev/zero", MOST + 1), ("/dev/null", 0)])
def test_a_device_says_that_it_is_empty(device: str, length: int) -> None:
    with Path(device).open("rb") as file:
        assert len(read_bounded(file, MOST)) == length
