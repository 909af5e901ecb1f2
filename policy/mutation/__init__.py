"""Mutation tests of policies: each part that has a meaning changed in turn; tests that do not notice are too few."""
