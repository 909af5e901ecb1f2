"""Formats policies and test files: one order of keys, everything else as it was written."""
