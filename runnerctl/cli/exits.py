"""Exit codes, the same whatever the output format."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from policy.input_error import InputError

if TYPE_CHECKING:
    from policy.decision.decision import Status

__all__ = ["ExitCode", "UsageError", "exit_code_of"]


class ExitCode(IntEnum):
    OK = 0
    NO = 1  # the answer is no: an error decision, a failed test
    INVALID = 2  # bad usage, unreadable or invalid input, nothing to check
    UNDETERMINED = 3
    DIFFERENT = 4  # the engine did not do what was decided


class UsageError(InputError):
    """Options that do not go together, or that ask for nothing."""


def exit_code_of(status: Status) -> ExitCode:
    return {"ok": ExitCode.OK, "error": ExitCode.NO, "undetermined": ExitCode.UNDETERMINED}[status]
