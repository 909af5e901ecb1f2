"""One side of an upgrade: a release, and a deployment as it would be there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policy.engine.catalog import UnknownRelease
from policy.engine.release import EngineRelease
from policy.facts.facts import Facts

__all__ = ["Side"]


@dataclass(frozen=True, slots=True)
class Side:
    """A release as it was asked for, and what the catalog found for it."""

    version: str
    engine: EngineRelease | UnknownRelease

    @property
    def known(self) -> EngineRelease | None:
        return self.engine if isinstance(self.engine, EngineRelease) else None

    def document(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The facts of the deployment as they would be under this release."""
        return {**document, "vllm": self.version}

    def facts(self, document: Mapping[str, Any]) -> Facts:
        return Facts(self.document(document))
