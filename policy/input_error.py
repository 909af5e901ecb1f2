"""The one base of every failure that is the input's fault."""

__all__ = ["InputError"]


class InputError(ValueError):
    """Input that cannot be used. The message says what is wrong, where, and what would be right.

    The command line prints it and exits with 2; nothing has been written or started.
    """
