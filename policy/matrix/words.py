"""What every form of the matrix says: its title, what the legend explains, what was given, its notes."""

from __future__ import annotations

from collections.abc import Iterator

from policy.matrix.cell import LEGEND
from policy.matrix.matrix import Group, Matrix

__all__ = ["TITLE", "explained", "group_title", "legend", "numbered"]

TITLE = "Model runner by architecture and vLLM release"


def explained(matrix: Matrix) -> str:
    """Under which facts the cells hold."""
    given = (
        f" Given for all: {', '.join(f'`{setting}`' for setting in matrix.given)}." if matrix.given else ""
    )
    assumed = "".join(
        f" vLLM {release} is decided as {by}; rules see {release}." for release, by in matrix.assumed.items()
    )
    return (
        "Each cell is for a plain checkpoint: what neither the registry tells nor an option gives has vLLM's default "
        f"(CUDA, the switch not set, no quantization, no speculation).{given}{assumed}"
    )


def legend(matrix: Matrix) -> Iterator[tuple[str, str]]:
    """The labels that occur, with their meaning."""
    for label in matrix.labels:
        yield label, LEGEND.get(label, LEGEND["v1/v2"])


def numbered(matrix: Matrix) -> Iterator[tuple[int, str]]:
    yield from ((number, text) for text, number in matrix.notes.items())


def group_title(group: Group) -> str:
    """The first name, and how many more it stands for."""
    more = len(group.architectures) - 1
    return f"{group.architectures[0]} +{more}" if more else group.architectures[0]
