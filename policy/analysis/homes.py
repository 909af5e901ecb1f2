"""Which described release decides for which version: the line of all versions cut at the catalog's releases."""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from packaging.version import Version

from policy.analysis.engine_view import EngineView
from policy.analysis.versions import VersionLine
from policy.engine.catalog import Catalog
from policy.engine.release import EngineRelease

__all__ = ["Homes"]


class Homes:
    """Every version has one home: the last release whose development began at or before it, else the first.

    For versions that the catalog describes this is the release that it finds; for others the one to assume.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.releases = catalog.releases
        self._names: dict[str, tuple[str, ...]] = {}
        self._views: dict[str, EngineView] = {}

    @classmethod
    @functools.lru_cache(maxsize=4)  # `lint` analyses many sets against one catalog
    def of(cls, catalog: Catalog) -> Homes:
        return cls(catalog)

    def view(self, release: str) -> EngineView:
        """The rules of a release as plain matches."""
        if release not in self._views:
            self._views[release] = EngineView(self.catalog.load(release))
        return self._views[release]

    @functools.cached_property
    def cuts(self) -> tuple[Version, ...]:
        """Where the home of versions changes: the `.dev0` of each release, oldest first."""
        return tuple(Version(f"{Version(r).base_version}.dev0") for r in self.releases)

    def home(self, version: Version) -> str:
        return self.releases[max(0, bisect_right(self.cuts, version) - 1)]

    def pieces(self, line: VersionLine, wanted: Callable[[EngineRelease], bool]) -> int:
        """The pieces of a line that was cut at `cuts` whose home is a release that is wanted."""
        found = 0
        for (low, high), release in zip(pairwise([None, *self.cuts[1:], None]), self.releases, strict=True):
            if wanted(self.catalog.load(release)):
                found |= line.from_to(low, high)
        return found

    def assumed(self, text: str) -> str | None:
        """The release to assume for a version; None where the catalog describes it."""
        version = Version(text)
        if version.dev is None and Version(version.base_version) in self._described:
            return None
        return self.home(version)

    def architectures(self, version: str) -> tuple[str, ...]:
        """The names that the home of a version registers, the usual kind first."""
        home = self.home(Version(version))
        if home not in self._names:
            names = self.catalog.architecture_names(home)
            self._names[home] = tuple(
                sorted(names, key=lambda name: (not name.endswith("ForCausalLM"), name))
            )
        return self._names[home]

    @functools.cached_property
    def _described(self) -> frozenset[Version]:
        return frozenset(map(Version, self.releases))

    @functools.cached_property
    def _versions(self) -> Mapping[str, tuple[tuple[str, str, Version], ...]]:
        """By ending, a version of each described release, newest first: (release, text, version)."""
        return {
            ending: tuple((r, str(v), v) for r in reversed(self.releases) for v in [Version(r + ending)])
            for ending in ("", "rc1", ".post1", ".dev1")
        }

    def _described_on(self, line: VersionLine) -> tuple[tuple[str, str, int], ...]:
        """The described releases, newest first, each with versions of it, the nicest first, and their pieces."""
        if line.described is None:
            tried = zip(*(self._versions[ending] for ending in ("", "rc1", ".post1")), strict=True)
            line.described = tuple((r, text, 1 << line.piece(v)) for some in tried for r, text, v in some)
        return line.described

    def members(self, line: VersionLine, mask: int) -> Sequence[tuple[str, str]]:
        """Each described release with a version of it in the pieces of `mask`, newest first."""
        found = line.members.get(mask)
        if found is None:
            first: dict[str, str] = {}
            for release, text, piece in self._described_on(line):
                if piece & mask:
                    first.setdefault(release, text)
            found = line.members[mask] = tuple(first.items())
        return found

    def nice(self, line: VersionLine, mask: int) -> str:
        """A version in the pieces of `mask`: a described release if there is one, the newest, or what is near it."""
        for _, text, piece in self._described_on(line):
            if piece & mask and text in self.releases:
                return text
        for _, text in self.members(line, mask):
            return text
        for _, text, version in self._versions[".dev1"]:
            if mask >> line.piece(version) & 1:
                return text
        return line.samples[(mask & -mask).bit_length() - 1]
