"""Colours that colour-blind readers can tell apart (Okabe and Ito); every cell carries its label as well."""

from __future__ import annotations

from policy.matrix.cell import Cell

__all__ = ["FILLS", "INKS", "kind_of"]

FILLS = {
    "v1": "#0072B2",
    "v2": "#F0E442",
    "depends": "#CC79A7",
    "refused": "#1A1A1A",
    "undetermined": "#999999",
    "draft": "#D9D9D9",
    "absent": "none",
}
INKS = {
    "v1": "#FFFFFF",
    "v2": "#1A1A1A",
    "depends": "#1A1A1A",
    "refused": "#FFFFFF",
    "undetermined": "#1A1A1A",
    "draft": "#1A1A1A",
    "absent": "#767676",
}


def kind_of(cell: Cell) -> str:
    """The name of the cell's colour."""
    if len(cell.answers) > 1:
        return "depends"
    return "absent" if cell.answers == ("not registered",) else cell.answers[0]
