"""Builds the matrix: one decision for each kind of architecture in each release, not for each architecture."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from policy.engine.release import EngineRelease
from policy.facts.facts import Facts
from policy.matrix.architecture import DRAFTS, architecture_facts
from policy.matrix.cell import ABSENT, DRAFT, Cell, decide_cell
from policy.rules.match import Leaf
from policy.rules.policy_set import PolicySet

__all__ = ["Column", "Group", "Matrix", "Row", "Span", "build_matrix"]

ARCHITECTURE_PATHS = ("model_config.architectures", "model_config.architecture")


@dataclass(frozen=True, slots=True)
class Column:
    """A release and the architectures that it registers, with what the registry tells of each.

    `version` is what rules see, where the release is only assumed to decide for it.
    """

    engine: EngineRelease
    architectures: Mapping[str, Mapping[str, Any]]
    version: str | None = None

    @property
    def release(self) -> str:
        """The release that the column is about."""
        return self.version or self.engine.release


@dataclass(frozen=True, slots=True)
class Row:
    architecture: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Architectures that have the same cells."""

    architectures: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """Neighbouring releases in which every row has the same cell; `index` is the first one's."""

    first: str
    last: str
    index: int

    @property
    def title(self) -> str:
        return self.first if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows of cells. `given` are the facts that were set for all, `command` what made the matrix.

    `assumed` are the releases that the catalog does not describe, each with the one that decides for it.
    """

    releases: tuple[str, ...]
    rows: tuple[Row, ...]
    given: tuple[str, ...] = ()
    command: str = "runnerctl matrix"
    assumed: Mapping[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> dict[str, int]:
        """Each distinct note with its number, in reading order."""
        texts = dict.fromkeys(cell.note for row in self.rows for cell in row.cells if cell.note)
        return {text: number for number, text in enumerate(texts, 1)}

    @property
    def labels(self) -> list[str]:
        """The distinct labels of the cells."""
        return sorted({cell.label for row in self.rows for cell in row.cells})

    @property
    def groups(self) -> list[Group]:
        """Rows with the same cells together, where the first of them stands."""
        found: dict[tuple[Cell, ...], list[str]] = {}
        for row in self.rows:
            found.setdefault(row.cells, []).append(row.architecture)
        return [Group(tuple(names), cells) for cells, names in found.items()]

    @property
    def spans(self) -> list[Span]:
        columns = list(zip(*(group.cells for group in self.groups), strict=True))
        spans: list[Span] = []
        for index, (release, column) in enumerate(zip(self.releases, columns, strict=True)):
            if spans and columns[spans[-1].index] == column:
                spans[-1] = Span(spans[-1].first, release, spans[-1].index)
            else:
                spans.append(Span(release, release, index))
        return spans

    def as_json(self) -> dict[str, Any]:
        """`rows[i].cells[j]` is for `releases[j]`; a cell is {answers, cases: [{given, answer, why}], needs}."""
        return {
            "releases": list(self.releases),
            "assumed": dict(self.assumed),
            "given": list(self.given),
            "rows": [
                {"architecture": row.architecture, "cells": [cell.as_json() for cell in row.cells]}
                for row in self.rows
            ],
        }


def build_matrix(
    columns: Sequence[Column],
    architectures: Sequence[str],
    policies: PolicySet,
    over: Mapping[str, Any],
    *,
    given: Iterable[str] = (),
    command: str = "runnerctl matrix",
    today: date | None = None,
) -> Matrix:
    """The cells of `architectures` in the releases of `columns`, with the nested facts `over` set for all."""
    named = {name: Facts({"model_config": {"architectures": [name]}}) for name in architectures}
    by_column = [_column(column, named, policies, over, today) for column in columns]
    rows = tuple(
        Row(name, cells) for name, cells in zip(architectures, zip(*by_column, strict=True), strict=True)
    )
    assumed = {c.release: c.engine.release for c in columns if c.version is not None}
    return Matrix(tuple(c.release for c in columns), rows, tuple(given), command, assumed)


def _column(
    column: Column,
    named: Mapping[str, Facts],
    policies: PolicySet,
    over: Mapping[str, Any],
    today: date | None,
) -> list[Cell]:
    leaves = _architecture_leaves(column.engine, policies)
    listed = column.engine.default_v2_architectures or {}
    decided: dict[Hashable, Cell] = {}
    cells = []
    for name, facts in named.items():
        entry = column.architectures.get(name)
        if entry is None or entry.get("category") == DRAFTS:
            cells.append(ABSENT if entry is None else DRAFT)
            continue
        kind = frozenset((k, v) for k, v in entry.items() if k != "class")
        key = (kind, name if name in listed else "", tuple(leaf.value(facts) for leaf in leaves))
        if key not in decided:
            document = architecture_facts(name, entry, over)
            decided[key] = decide_cell(policies, column.engine, {**document, "vllm": column.release}, today)
        cells.append(decided[key])
    return cells


def _architecture_leaves(engine: EngineRelease, policies: PolicySet) -> list[Leaf]:
    """Everything that tells one architecture's name from another's."""
    matches = (*engine.matches(), *policies.matches())
    found = {leaf: None for match in matches for leaf in match.leaves() if leaf.path in ARCHITECTURE_PATHS}
    return list(found)
