"""One vLLM release as rules: its own choice, its constraints, its set of default V2 architectures."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from policy.document.diagnostic import DocumentError
from policy.document.source import Document
from policy.facts.facts import ABSENT, Facts
from policy.facts.fields import Field
from policy.rules.match import Equal, Leaf, Match
from policy.rules.read_match import MatchReader
from policy.rules.selection import Selection

if TYPE_CHECKING:
    from policy.facts.reader import FactReader

__all__ = ["DERIVED", "RUNNERS", "Choice", "EngineRelease", "Entries", "Gap", "Runner", "other", "worded"]

Runner = Literal["v1", "v2"]
RUNNERS: tuple[Runner, Runner] = ("v1", "v2")
SwitchKind = Literal["none", "off-by-default", "three-state"]

# The facts that words such as "speculative method '{speculative_config.method}'" quote.
_PATHS = re.compile(r"\{([a-z0-9_.]+)\}")
# Paths that only a release may match: the resolver works them out before it asks for the release's choice.
DERIVED = {
    "default_v2_architecture": Field("default_v2_architecture", ("boolean",)),
    "unsupported.v1": Field("unsupported.v1", ("array", "string")),
    "unsupported.v2": Field("unsupported.v2", ("array", "string")),
}


class Choice(NamedTuple):
    """A rule of the release. `accident` marks a choice that rests on something that may change unseen; `derived` are
    the derived paths that its match asks for."""

    id: str
    match: Match
    runner: Runner
    priority: int
    reason: str
    accident: bool
    refuses_switch: str | None
    derived: tuple[str, ...]


class Gap(NamedTuple):
    """Something that a runner does not serve. `message` is vLLM's sentence where it names no feature."""

    id: str
    match: Match
    feature: str | None
    message: str | None


# Entries of releases by identity and name, each with what was read from it; the entry is kept, so that its identity is.
Entries = dict[tuple[int, str], "tuple[Mapping[str, Any], Choice | Gap]"]


class EngineRelease:
    """A whole release, its patches applied: compared, and cached by, identity.

    `data` is the same as plain values, for compiled policies.
    """

    def __init__(
        self,
        *,
        release: str,
        switch: SwitchKind,
        deprecated: Mapping[str, str],
        default_v2_architectures: Mapping[str, Match] | None,
        overrides: tuple[Choice, ...],
        choice: tuple[Choice, ...],
        unsupported: Mapping[Runner, tuple[Gap, ...]],
        refused: Mapping[Runner, tuple[Gap, ...]],
        data: Mapping[str, Any],
    ) -> None:
        self.release = release
        self.switch = switch
        self.deprecated = deprecated
        self.default_v2_architectures = default_v2_architectures
        self.overrides = overrides
        self.choice = choice
        self.unsupported = unsupported
        self.refused = refused
        self.data = data

    @classmethod
    def from_data(cls, data: Mapping[str, Any], known: Entries | None = None) -> EngineRelease:
        """Build from merged data. Raises `DocumentError` when a match names facts that do not exist.

        `known` holds entries that were read for other releases, and takes in those of this one: most releases change
        little, and share the rest with their base.
        """
        entries: Entries = dict(known or {})
        reader = MatchReader(Document.unmarked(f"vLLM {data['release']}", data), DERIVED)
        architectures = data.get("default_v2_architectures")
        built = cls(
            release=data["release"],
            switch=data["switch"],
            deprecated=data.get("deprecated", {}),
            default_v2_architectures=None
            if architectures is None
            else {name: reader.read(match, ()) for name, match in sorted(architectures.items())},
            overrides=tuple(_choices(reader, data.get("overrides", {}), entries)),
            choice=tuple(_choices(reader, data["choice"], entries)),
            unsupported={r: tuple(_gaps(reader, data["unsupported"].get(r, {}), entries)) for r in RUNNERS},
            refused={r: tuple(_gaps(reader, data["refused"].get(r, {}), entries)) for r in RUNNERS},
            data=data,
        )
        if reader.findings:
            raise DocumentError(reader.findings)
        if known is not None:
            known.update(entries)
        return built

    @functools.cached_property
    def reader(self) -> FactReader:
        """Reads the facts that this release looks at, or quotes in its words."""
        from policy.facts.reader import FactReader  # noqa: PLC0415  (one deployment alone does not need it)

        asked = {leaf.path for match in self.matches() for leaf in match.leaves()}
        return FactReader({*asked, *self.quoted})

    def _read(self) -> FactReader:
        return self.reader

    @functools.cached_property
    def quoted(self) -> tuple[str, ...]:
        """The facts whose values appear in the release's words for features and refusals, sorted."""
        gaps = [gap for r in RUNNERS for gap in (*self.unsupported[r], *self.refused[r])]
        return tuple(sorted({path for gap in gaps for path in _PATHS.findall(gap.feature or "")}))

    @functools.cached_property
    def gaps(self) -> Mapping[Runner, tuple[Selection[Gap], Selection[Gap]]]:
        """Per runner, its unsupported features and its other refusals, for quick asking."""
        return {
            r: (Selection(self.unsupported[r], self._read), Selection(self.refused[r], self._read))
            for r in RUNNERS
        }

    @functools.cached_property
    def choices(self) -> tuple[Selection[Choice], Selection[Choice]]:
        """What decides whatever the switch says, and the release's own choice, for quick asking."""
        return Selection(self.overrides, self._read), Selection(self.choice, self._read)

    def matches(self) -> Iterator[Match]:
        """Every match of the release, to find the values that it can tell apart."""
        for choice in (*self.overrides, *self.choice):
            yield choice.match
        for runner in RUNNERS:
            for gap in (*self.unsupported[runner], *self.refused[runner]):
                yield gap.match
        listed = self.default_v2_architectures or {}
        yield from listed.values()
        if listed:
            # What `default_v2_architecture` tells apart.
            yield Leaf("model_config.architectures", tuple(Equal(name) for name in listed))


def other(runner: Runner) -> Runner:
    return "v1" if runner == "v2" else "v2"


def worded(template: str, facts: Facts) -> str:
    """vLLM's words with the values of facts for each {path}; a value that is off reads `None`, as Python says."""

    def value(found: re.Match[str]) -> str:
        given = facts.value(found[1])
        return "None" if given is ABSENT else str(given)

    return _PATHS.sub(value, template)


def _choices(
    reader: MatchReader, entries: Mapping[str, Mapping[str, Any]], known: Entries
) -> Iterator[Choice]:
    for name, entry in sorted(entries.items(), key=lambda e: (-e[1].get("priority", 0), e[0])):
        _, read = known.get((id(entry), name), (entry, None))
        if not isinstance(read, Choice):
            match = reader.read(entry["match"], ())
            read = Choice(
                id=name,
                match=match,
                runner=entry["runner"],
                priority=entry.get("priority", 0),
                reason=entry["reason"],
                accident=entry.get("accident", False),
                refuses_switch=entry.get("refuses_switch"),
                derived=tuple(sorted({leaf.path for leaf in match.leaves()} & DERIVED.keys())),
            )
            known[id(entry), name] = (entry, read)
        yield read


def _gaps(reader: MatchReader, entries: Mapping[str, Mapping[str, Any]], known: Entries) -> Iterator[Gap]:
    for name, entry in entries.items():
        _, read = known.get((id(entry), name), (entry, None))
        if not isinstance(read, Gap):
            read = Gap(name, reader.read(entry["match"], ()), entry.get("feature"), entry.get("message"))
            known[id(entry), name] = (entry, read)
        yield read
