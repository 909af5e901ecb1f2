"""Upgrades: what changes for a deployment between two vLLM releases under the same policies."""

from policy.upgrade.change import KINDS, Change, Kind
from policy.upgrade.compare import Comparer
from policy.upgrade.tally import Tally

__all__ = ["KINDS", "Change", "Comparer", "Kind", "Tally"]
