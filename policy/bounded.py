"""Reads files of which nobody knows how large they are."""

import os
from typing import BinaryIO

__all__ = ["MAX_BYTES", "read_bounded"]

# A policy of 10,000 rules is about 3 MB. Anything much larger is a log or a dump given by mistake.
MAX_BYTES = 8 * 1024 * 1024


def read_bounded(file: BinaryIO, most: int) -> bytes:
    """All of a file on the disk, or its first `most` + 1 bytes where it holds more.

    To ask for `most` bytes of each of many small files would take longer for the buffers than for the reading.
    """
    size = min(os.fstat(file.fileno()).st_size, most)
    content = file.read(size + 1)
    if len(content) <= size:
        return content
    return content + file.read(most - size)  # it has grown, or is a device, whose size is 0
