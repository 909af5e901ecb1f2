"""Files to texts: read whole, up to a limit, as UTF-8."""

from __future__ import annotations

import codecs
import os
from pathlib import Path
from typing import BinaryIO, NamedTuple

from policy.bounded import MAX_BYTES, read_bounded
from policy.document.diagnostic import Diagnostic, DocumentError, Location
from policy.input_error import reason_of

__all__ = ["MAX_BYTES", "Source", "decode", "line_and_column", "read_source", "read_stream"]


class Source(NamedTuple):
    """One file's text. `name` is the path as the user wrote it, `bom` the byte order mark before the text, if any."""

    name: str
    text: str
    bom: str = ""

    @property
    def written(self) -> str:
        """What the file holds, for who writes it anew."""
        return self.bom + self.text


def read_source(path: str | os.PathLike[str]) -> Source:
    """Read one file. Raises `DocumentError` when it cannot be read, is too large or is not UTF-8."""
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            raw = read_bounded(file, MAX_BYTES)
    except OSError as error:
        raise _error(Location(name), "unreadable-file", f"cannot be read: {reason_of(error)}") from error
    return decode(name, raw)


def read_stream(name: str, stream: BinaryIO) -> Source:
    """Read a stream, such as standard input, that `name` stands for. Raises `DocumentError` as `decode` does."""
    return decode(name, stream.read(MAX_BYTES + 1))


def decode(name: str, raw: bytes) -> Source:
    """The UTF-8 text of `raw`; raises `DocumentError` that names the first bad byte, or the size."""
    if len(raw) > MAX_BYTES:
        message = f"the file is too large: the limit is {MAX_BYTES // 1024 // 1024} MiB"
        raise _error(Location(name), "file-too-large", message, "split it into several files")
    content = raw.removeprefix(codecs.BOM_UTF8)
    try:
        return Source(name, content.decode(), "\ufeff" if len(content) < len(raw) else "")
    except UnicodeDecodeError as error:
        place = line_and_column(content[: error.start].decode())
        message = f"the file is not UTF-8: byte 0x{content[error.start]:02x}"
        raise _error(Location(name, *place), "not-utf-8", message, "save it as UTF-8") from error


def line_and_column(before: str) -> tuple[int, int]:
    """The place behind a text, both counted from 1."""
    *lines, last = f"{before}.".splitlines()
    return len(lines) + 1, len(last)


def _error(location: Location, code: str, message: str, help_: str = "") -> DocumentError:
    return DocumentError([Diagnostic(location, code, message, help_)])
