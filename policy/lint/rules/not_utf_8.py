"""A file is not UTF-8.

The message names the first byte that is not. YAML may be written in other encodings; policies may not, so that every
tool reads the same text.

Save the file as UTF-8.
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RD104", "not-utf-8", "error", "a file is not UTF-8", unread=True)
