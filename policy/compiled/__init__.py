"""Compiled policies: one JSON artifact for one release, and the set of V2 architectures in it."""
