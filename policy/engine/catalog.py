"""Finds a release in the catalog and applies its patches. Reads only the files that the release stands on."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from packaging.version import InvalidVersion, Version

from policy.document.diagnostic import Diagnostic, DocumentError, Location
from policy.document.schema import check
from policy.document.source import parse, read_source
from policy.engine.release import EngineRelease, Entries
from policy.input_error import InputError

__all__ = ["Catalog", "UnknownRelease"]


class UnknownRelease(NamedTuple):
    """A version that the catalog does not describe, and why; `nearest` is a release to assume, if there is one."""

    version: str
    reason: str
    nearest: str | None = None

    def __str__(self) -> str:
        return f"vLLM {self.version} is not a release that the catalog knows: {self.reason}"


class Catalog:
    """The release files of one folder: `releases/<release>.yaml`, `names/<release>.json`."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or Path(__file__).resolve().parent
        self._is_theirs = folder is not None
        self._built: dict[str, EngineRelease] = {}
        self._patches: dict[str, dict[str, Any]] = {}
        self._whole: dict[str, dict[str, Any]] = {}
        self._entries: Entries = {}

    @functools.cached_property
    def releases(self) -> tuple[str, ...]:
        """Every release that is described, oldest first."""
        names = [path.stem for path in (self.folder / "releases").glob("*.yaml")]
        for name in names:
            if not _is_version(name):
                message = f"`{name}` is not a release: a release file is named after its release"
                raise DocumentError([Diagnostic(_location(self.folder, name), "wrong-name", message)])
        if not names:
            raise InputError(f"{self.folder / 'releases'}: no release file (`*.yaml`)")
        return tuple(sorted(names, key=Version))

    def find(self, version: str, assume: str | None = None) -> EngineRelease | UnknownRelease:
        """The release that describes `version`, or `assume` where none does.

        Local versions (`0.23.0+cu129`) and post releases are the release they are built from; a release
        candidate is the release that it became. A development version is no release: what it holds depends
        on its commit. Raises `InputError` when `version` is not a PEP 440 version or `assume` is not described.
        """
        found = self._find(version)
        if assume is None or isinstance(found, EngineRelease):
            return found
        found = self._find(assume)
        if isinstance(found, UnknownRelease):
            raise InputError(f"--assume {assume}: {found.reason}")
        return found

    def _find(self, version: str) -> EngineRelease | UnknownRelease:
        try:
            parsed = Version(version)
        except ValueError as error:  # also a number of thousands of digits
            message = f"`{version[:80]}` is not a release: a release is a PEP 440 version such as 0.23.0"
            raise InputError(message) from error
        base = Version(parsed.base_version)
        known = {Version(r): r for r in self.releases}
        if parsed.dev is not None:
            older = [r for r in self.releases if Version(r) < parsed]
            reason = "a development version may hold any commit between two releases"
            return UnknownRelease(version, reason, older[-1] if older else None)
        if base in known:
            return self.load(known[base])
        older = [r for r in self.releases if Version(r) < parsed]
        if not older:
            return UnknownRelease(version, f"the catalog begins with {self.releases[0]}", self.releases[0])
        if older[-1] == self.releases[-1]:
            return UnknownRelease(
                version, f"it is newer than the catalog, which ends with {older[-1]}", older[-1]
            )
        return UnknownRelease(version, "the catalog does not describe it", older[-1])

    def load(self, release: str) -> EngineRelease:
        """The described release, its patches applied. Raises `DocumentError` for a broken release file."""
        if release not in self._built:
            data = self._data(release)
            try:
                self._built[release] = EngineRelease.from_data(data, self._entries)
            except (KeyError, TypeError, AttributeError) as error:
                message = (
                    f"a rule of this release is malformed: {error}; see the files of the shipped catalog"
                )
                finding = Diagnostic(_location(self.folder, release), "malformed-release", message)
                raise DocumentError([finding]) from error
        return self._built[release]

    def _data(self, release: str) -> dict[str, Any]:
        merged = dict(self._merged(release))
        merged.pop("base", None)
        for needed in ("switch", "choice", "unsupported", "refused"):
            if needed not in merged:
                message = f"neither this release nor one that it stands on has `{needed}`"
                raise DocumentError([Diagnostic(_location(self.folder, release), "missing-field", message)])
        return merged

    def _merged(self, release: str) -> dict[str, Any]:
        """A release over all that it stands on. What it does not change is its base's, the very same object."""
        missing: list[str] = []
        name: str | None = release
        while name is not None and name not in self._whole:
            missing.append(name)
            name = self.patch(name).get("base")
            if len(missing) > len(self.releases):
                finding = "the bases of this release form a circle"
                raise DocumentError([Diagnostic(_location(self.folder, release), "circular-base", finding)])
        merged = self._whole[name] if name is not None else {}
        for above in reversed(missing):
            merged = self._whole[above] = merge_patch(merged, self.patch(above))
        return merged

    def patch(self, release: str) -> dict[str, Any]:
        """What the file of a release says, which is what changed against its `base`."""
        if release not in self._patches:
            document = parse(read_source(self.folder / "releases" / f"{release}.yaml"))
            if self._is_theirs:  # ours are checked by the tests, once and not at every start
                check(document, "engine-release")
            self._patches[release] = dict(document.data)
        return self._patches[release]

    def names(self, release: str) -> Mapping[str, Any] | None:
        """`architectures` and `environment_variables` that a release registers; None where no file lists them."""
        path = self.folder / "names" / f"{release}.json"
        if not path.is_file():
            return None
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return found

    def architecture_names(self, release: str) -> tuple[str, ...]:
        """The architectures that a release registers, over which globs expand; empty where no file lists them."""
        names = self.names(release)
        return tuple(names["architectures"]) if names else ()

    def names_of(self, found: EngineRelease | UnknownRelease | None) -> tuple[str, ...]:
        """The `architecture_names` of what `find` found; empty where it found no release."""
        return self.architecture_names(found.release) if isinstance(found, EngineRelease) else ()


def _location(folder: Path, release: str) -> Location:
    return Location(str(folder / "releases" / f"{release}.yaml"))


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386: mappings merge, null removes, everything else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result
