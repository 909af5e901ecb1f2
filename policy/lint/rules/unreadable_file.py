"""A file or folder cannot be read.

It does not exist, or its permissions forbid it. Nothing in it was checked, so lint exits with 2, and nothing hides this:
a mistyped path must not look like a clean policy.

Give the path of a file or folder that exists, or take it out of `policies` in the settings.
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RD101", "unreadable-file", "error", "a file or folder cannot be read", unread=True)
