"""The one base of every failure that is the input's fault."""

__all__ = ["InputError", "reason_of"]


class InputError(ValueError):
    """Input that cannot be used. The message says what is wrong, where, and what would be right.

    The command line prints it and exits with 2; nothing has been written or started.
    """


def reason_of(error: OSError) -> str:
    """Why the system refused, as a message goes on with it: lower case, no path."""
    return (error.strerror or str(error)).lower()
