"""Decisions: which runner one deployment gets, who decided it and why."""

from policy.decision.decision import DecidedBy, Decision, Failure
from policy.decision.resolve import resolve

__all__ = ["DecidedBy", "Decision", "Failure", "resolve"]
