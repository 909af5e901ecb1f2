"""Aliases let a document grow far beyond what it holds.

A few lines of aliases of aliases can stand for billions of values, and every check would see them all.

Write out what differs, or split the file.
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule(
    "RD111", "too-many-nodes", "error", "aliases let a document grow far beyond what it holds", unread=True
)
