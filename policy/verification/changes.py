"""What differs between a vLLM source and what the catalog holds of one release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from policy.engine.catalog import Catalog
from policy.engine.differences import Difference, difference
from policy.engine.source.deciding import DecidingCode
from policy.engine.source.digest import digests, known_digests
from policy.engine.source.names import environment_variables, registered_classes
from policy.engine.source.tree import SourceError, Tree

__all__ = ["Changes", "compare"]


@dataclass(frozen=True, slots=True)
class Changes:
    """A source against the catalog's `release`: deciding functions, architectures, environment variables."""

    release: str
    functions: Difference
    architectures: Difference
    variables: Difference

    def __bool__(self) -> bool:
        return bool(self.functions or self.architectures or self.variables)

    def lines(self) -> list[str]:
        """One line for each change, deciding functions first."""
        return [
            *self.functions.lines("function"),
            *self.architectures.lines("architecture"),
            *self.variables.lines("variable"),
        ]

    def as_json(self) -> dict[str, Any]:
        return {
            "functions": self.functions.as_json(),
            "architectures": self.architectures.as_json(),
            "environment_variables": self.variables.as_json(),
        }


def compare(catalog: Catalog, release: str, tree: Tree, code: DecidingCode) -> Changes:
    """Compare a source with the catalog's `release`.

    Digests come from the catalog's `source_digests.json`, names from its `names/<release>.json`. Raises
    `SourceError` when the source has no registry or variables, or when it is a fork without any deciding code.
    """
    functions = difference(known_digests(catalog.folder).get(release, {}), digests(code))
    if catalog.load(release).switch != "none" and not code.parts():
        raise SourceError(
            f"{tree.name}: no code in it chooses a model runner; it is not vLLM as released, or a fork without it"
        )
    names = catalog.names(release) or {}
    known = {name: entry.get("class") for name, entry in names.get("architectures", {}).items()}
    return Changes(
        release,
        functions,
        difference(known, registered_classes(tree)),
        difference(names.get("environment_variables", {}), environment_variables(tree)),
    )
