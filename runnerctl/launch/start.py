"""Starts the engine: leaves the artifact and the decision in the run's folder, then becomes the command."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from policy.compiled.artifact import to_text, write_atomically
from policy.input_error import InputError, reason_of
from runnerctl.attestation.record import record_files
from runnerctl.launch.plan import Plan

__all__ = ["StartError", "default_folder", "find_program", "start"]


class StartError(InputError):
    """The engine could not be started; nothing runs."""


def default_folder(env: Mapping[str, str]) -> Path:
    """A folder for this launch's records: its name ends with the PID, which the engine will have."""
    if env.get("XDG_STATE_HOME"):
        state = Path(env["XDG_STATE_HOME"])
    elif env.get("HOME"):
        state = Path(env["HOME"]) / ".local" / "state"
    else:  # a user without a home, as containers give them
        state = Path(tempfile.gettempdir())
    return state / "runnerctl" / f"run-{os.getpid()}"


def find_program(name: str, env: Mapping[str, str]) -> str:
    """The path that `exec` will run, looked up in the engine's PATH. Raises `StartError`."""
    found = shutil.which(name, path=env.get("PATH", os.defpath))
    if found is None:
        raise StartError(f"`{name}` is not a command: it is not on PATH, or may not be executed")
    return found


def _claim(folder: Path) -> None:
    """Hold the folder for as long as the engine lives: the lock passes to it through `exec`. Raises `StartError`."""
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise StartError(
            f"{folder}: a running launch keeps its records there; name another with --attest DIR"
        ) from error
    os.set_inheritable(descriptor, True)


def start(plan: Plan) -> NoReturn:
    """Replace this process with the engine: signals, exit status and PID are its own. Raises `StartError`."""
    program = find_program(plan.argv[0], plan.environment)
    try:
        plan.folder.mkdir(parents=True, exist_ok=True)
        _claim(plan.folder)
        for old in record_files(plan.folder):
            old.unlink()  # records of an earlier launch in the same folder are not this one's
        write_atomically(plan.folder / "policy.json", to_text(plan.artifact))
        if not plan.deferred:  # else the guard will leave it
            text = json.dumps(plan.decision.as_json(), indent=1) + "\n"
            write_atomically(plan.folder / "decision.json", text)
    except OSError as error:
        reason = reason_of(error)
        raise StartError(
            f"{plan.folder}: cannot be written: {reason}; name another with --attest DIR"
        ) from error
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execve(program, plan.argv, dict(plan.environment))  # noqa: S606
    except OSError as error:
        raise StartError(f"{program}: cannot be started: {reason_of(error)}") from error
