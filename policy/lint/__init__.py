"""Lint: what is wrong, risky or idle in policies. Rules yield findings; nothing here prints or reads the clock."""
