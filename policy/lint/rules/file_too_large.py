"""A file is larger than any policy.

The limit is 8 MiB; a policy of ten thousand rules has 3. Something this large is a log or a dump that was given by
mistake.

Split the policy into several files of one folder: their order never counts.
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RD103", "file-too-large", "error", "a file is larger than any policy", unread=True)
