"""Architectures by releases: which runner each gets, from the registry and the rules of every release."""

from policy.matrix.cell import Cell
from policy.matrix.matrix import Column, Matrix, Row, build_matrix

__all__ = ["Cell", "Column", "Matrix", "Row", "build_matrix"]
