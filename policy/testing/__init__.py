"""Tests of policies: found, run, explained where they fail, and counted by the rules that decided in them."""
