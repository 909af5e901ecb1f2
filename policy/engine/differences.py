"""What is in one release and not in another, as names; and what two described releases do otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policy.engine.catalog import Catalog
from policy.engine.release import RUNNERS, EngineRelease, Runner

__all__ = ["Difference", "ReleaseDifferences", "difference", "release_differences"]


@dataclass(frozen=True, slots=True)
class Difference:
    """Names that only one side has, and names that both have with another content."""

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.dropped or self.changed)

    def lines(self, what: str) -> list[str]:
        """One line for each name: `function use_v2_model_runner changed`."""
        return [
            f"{what} {name} {how}"
            for how, names in (("changed", self.changed), ("added", self.added), ("dropped", self.dropped))
            for name in names
        ]

    def as_json(self) -> dict[str, list[str]]:
        return {"changed": list(self.changed), "added": list(self.added), "dropped": list(self.dropped)}


@dataclass(frozen=True, slots=True)
class ReleaseDifferences:
    """`unsupported` is per runner: `added` is what it no longer serves, `dropped` what it serves now."""

    before: str
    after: str
    switch: tuple[str, str] | None
    deprecated: Mapping[str, str]
    unsupported: Mapping[Runner, Difference]
    choice: Difference
    default_architectures: Difference
    architectures: Difference
    variables: Difference

    def as_json(self) -> dict[str, Any]:
        return {
            "from": self.before,
            "to": self.after,
            "switch": list(self.switch) if self.switch else None,
            "deprecated": dict(self.deprecated),
            "unsupported": {runner: entries.as_json() for runner, entries in self.unsupported.items()},
            "choice": self.choice.as_json(),
            "default_v2_architectures": self.default_architectures.as_json(),
            "architectures": self.architectures.as_json(),
            "environment_variables": self.variables.as_json(),
        }


def difference(before: Mapping[str, object], after: Mapping[str, object]) -> Difference:
    """What `after` has more, less and otherwise than `before`."""
    return Difference(
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(sorted(name for name in before.keys() & after.keys() if before[name] != after[name])),
    )


def release_differences(catalog: Catalog, before: EngineRelease, after: EngineRelease) -> ReleaseDifferences:
    """What `after` does otherwise than `before`; names come from the catalog's `names/`."""
    old, new = (catalog.names(engine.release) or {} for engine in (before, after))
    return ReleaseDifferences(
        before.release,
        after.release,
        (before.switch, after.switch) if before.switch != after.switch else None,
        {r: since for r, since in after.deprecated.items() if before.deprecated.get(r) != since},
        {runner: _worded(_gaps(before, runner), _gaps(after, runner)) for runner in RUNNERS},
        _worded(_choices(before), _choices(after)),
        difference(_default_set(before), _default_set(after)),
        difference(old.get("architectures", {}), new.get("architectures", {})),
        difference(old.get("environment_variables", {}), new.get("environment_variables", {})),
    )


def _gaps(engine: EngineRelease, runner: Runner) -> dict[str, tuple[str, Any]]:
    """Id -> the words that vLLM uses, and the whole entry."""
    found = {}
    for section in ("refused", "unsupported"):
        for name, entry in engine.data[section].get(runner, {}).items():
            found[name] = (entry.get("feature") or entry.get("message") or name, entry)
    return found


def _choices(engine: EngineRelease) -> dict[str, tuple[str, Any]]:
    entries = {**engine.data.get("overrides", {}), **engine.data["choice"]}
    return {name: (f"{entry['runner']}: {entry['reason']}", entry) for name, entry in entries.items()}


def _default_set(engine: EngineRelease) -> Mapping[str, Any]:
    return engine.data.get("default_v2_architectures") or {}


def _worded(before: Mapping[str, tuple[str, Any]], after: Mapping[str, tuple[str, Any]]) -> Difference:
    changed = (name for name in sorted(before.keys() & after.keys()) if before[name] != after[name])
    return Difference(
        tuple(after[name][0] for name in sorted(after.keys() - before.keys())),
        tuple(before[name][0] for name in sorted(before.keys() - after.keys())),
        tuple(_change(before[name][0], after[name][0]) for name in changed),
    )


def _change(before: str, after: str) -> str:
    return f"{after} (under other conditions)" if before == after else f"{after} (was: {before})"
