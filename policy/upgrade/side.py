"""One side of an upgrade: a release, and how a deployment is decided there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from policy.decision import Decision, resolve
from policy.engine.catalog import UnknownRelease
from policy.engine.release import EngineRelease
from policy.facts.facts import Facts
from policy.rules.policy_set import PolicySet

__all__ = ["Side"]


@dataclass(frozen=True, slots=True)
class Side:
    """A release as it was asked for, and what the catalog found for it."""

    version: str
    engine: EngineRelease | UnknownRelease

    @property
    def known(self) -> EngineRelease | None:
        return self.engine if isinstance(self.engine, EngineRelease) else None

    def facts(self, document: Mapping[str, Any]) -> Facts:
        """The deployment as it would be under this release."""
        return Facts({**document, "vllm": self.version})

    def decide(
        self, policies: PolicySet, facts: Facts, *, strict_env: bool = False, today: date | None = None
    ) -> Decision:
        # The set of architectures is no part of an upgrade report, so globs need not expand.
        return resolve(policies, self.engine, facts, strict_env=strict_env, today=today)
