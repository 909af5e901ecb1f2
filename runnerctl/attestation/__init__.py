"""Attestation: what each process of an engine really used, against what was decided."""
