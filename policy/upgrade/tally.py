"""What the deployments of a fleet add up to. Grows with the number of rules, not of deployments."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from policy.upgrade.change import KINDS, Change
from policy.upgrade.keep import Keep
from policy.upgrade.pins import Pin

__all__ = ["Tally"]


@dataclass
class Tally:
    """Counts of every kind, the rules that rot, and the distinct rules that would keep runners."""

    before: str
    after: str
    kinds: Counter[str] = field(default_factory=Counter)
    directions: Counter[str] = field(default_factory=Counter)
    fails_in_both: int = 0
    invalid: int = 0
    pins: dict[Pin, int] = field(default_factory=dict)
    keeps: dict[str, Keep] = field(default_factory=dict)

    def add(self, change: Change) -> None:
        self.kinds[change.kind] += 1
        if change.direction:
            self.directions[change.direction] += 1
        self.fails_in_both += change.fails_in_both
        for pin in change.pins:
            self.pins[pin] = self.pins.get(pin, 0) + 1
        if change.keep and change.keep.rule:
            self.keeps.setdefault(change.keep.rule["id"], change.keep)

    def add_dead(self, pin: Pin) -> None:
        """A rule that is dead for every deployment; once is enough where deployments have shown it."""
        if not any(known.rule == pin.rule and known.state == "dead" for known in self.pins):
            self.pins[pin] = 0

    @property
    def deployments(self) -> int:
        return self.kinds.total()

    @property
    def rotting(self) -> list[tuple[Pin, int]]:
        """Each rule that rots with the number of deployments that show it, in a total order."""
        return sorted(self.pins.items(), key=lambda item: (item[0].rule, item[0].state, item[0].message))

    @property
    def line(self) -> str:
        """The counts, in one line."""
        count = self.deployments
        parts = [
            _with(f"{self.kinds['flip']} flip", [f"{n} {way}" for way, n in sorted(self.directions.items())]),
            f"{self.kinds['error']} start to fail",
            f"{self.kinds['fixed']} newly possible",
            f"{self.kinds['undetermined']} undetermined",
            _with(
                f"{self.kinds['same']} same",
                [f"{self.fails_in_both} failing in both"] if self.fails_in_both else [],
            ),
        ]
        if self.invalid:
            parts.append(f"{self.invalid} invalid {'line' if self.invalid == 1 else 'lines'}")
        noun = "deployment" if count == 1 else "deployments"
        return f"vLLM {self.before} -> {self.after}, {count} {noun}: {', '.join(parts)}"

    def as_json(self) -> dict[str, Any]:
        """`summary` in `schemas/upgrade.schema.json`."""
        return {
            "deployments": self.deployments,
            **{kind: self.kinds[kind] for kind in KINDS},
            "directions": dict(sorted(self.directions.items())),
            "failing_in_both": self.fails_in_both,
            "invalid": self.invalid,
        }


def _with(text: str, details: list[str]) -> str:
    return f"{text} ({', '.join(details)})" if details else text
