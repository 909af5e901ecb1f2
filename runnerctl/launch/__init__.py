"""Launching: command → facts → decision → environment → the engine's own process."""
