"""A folder holds no policy.

A folder stands for every `*.yaml` and `*.yml` below it, but for `*_test.yaml`. Where there is none, nothing was checked,
and lint exits with 2.

Name the folder that holds the policies.
"""

from __future__ import annotations

from policy.lint.registry import Rule

__all__ = ["RULE"]

RULE = Rule("RD102", "no-policy", "error", "a folder holds no policy", unread=True)
