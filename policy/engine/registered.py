"""What all releases of a catalog register, in one table: a name and the releases that have it.

`registered.json` holds it for the shipped catalog, made by `tools/index_names.py` from `names/`: reading forty files to
look one name up takes longer than the rest of a lint. A catalog without that file is read release by release.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from policy.engine.catalog import Catalog

__all__ = ["RegisteredNames", "Releases", "registered_names", "table"]

# A set of releases: one bit for each, the oldest first.
Releases = int


class RegisteredNames(NamedTuple):
    """`variables` has the releases of a variable by the type that they give it, an empty one where they give none."""

    listed: Releases
    architectures: Mapping[str, Releases]
    variables: Mapping[str, Mapping[str, Releases]]


def registered_names(catalog: Catalog) -> RegisteredNames:
    """The names of every release of a catalog."""
    path = catalog.folder / "registered.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    if found.get("releases") != list(catalog.releases):
        found = table(catalog)
    return RegisteredNames(found["listed"], found["architectures"], found["variables"])


def table(catalog: Catalog) -> dict[str, Any]:
    """What `registered.json` holds, from the files of the releases."""
    listed = 0
    architectures: dict[str, Releases] = {}
    variables: dict[str, dict[str, Releases]] = {}
    for i, release in enumerate(catalog.releases):
        names = catalog.names(release)
        if names is None:
            continue
        listed |= 1 << i
        for name in names["architectures"]:
            architectures[name] = architectures.get(name, 0) | 1 << i
        for name, kind in names["environment_variables"].items():
            kinds = variables.setdefault(name, {})
            kinds[kind or ""] = kinds.get(kind or "", 0) | 1 << i
    return {
        "releases": list(catalog.releases),
        "listed": listed,
        "architectures": dict(sorted(architectures.items())),
        "variables": dict(sorted(variables.items())),
    }
