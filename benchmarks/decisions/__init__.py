"""Decisions of rule engines over one workload, in one run."""
