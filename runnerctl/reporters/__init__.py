"""Findings of lint as text: one output format a file. A reporter gets values and gives a string; nothing prints."""
