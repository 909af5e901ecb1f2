"""Starts the engine: leaves the artifact and the decision in the run's folder, then becomes the command."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from policy.compiled.artifact import to_text, write_atomically
from policy.input_error import InputError
from runnerctl.attestation.record import record_files
from runnerctl.launch.plan import Plan

__all__ = ["StartError", "default_folder", "find_program", "start"]


class StartError(InputError):
    """The engine could not be started; nothing runs."""


def default_folder(env: Mapping[str, str]) -> Path:
    """A folder for this launch's records: its name ends with the PID, which the engine will have."""
    home = env.get("XDG_STATE_HOME") or str(Path(env.get("HOME") or "~").expanduser() / ".local" / "state")
    return Path(home) / "runnerctl" / f"run-{os.getpid()}"


def find_program(name: str, env: Mapping[str, str]) -> str:
    """The path that `exec` will run, looked up in the engine's PATH. Raises `StartError`."""
    found = shutil.which(name, path=env.get("PATH", os.defpath))
    if found is None:
        raise StartError(f"`{name}` is not a command: it is not on PATH, or may not be executed")
    return found


def start(plan: Plan) -> NoReturn:
    """Replace this process with the engine: signals, exit status and PID are its own. Raises `StartError`."""
    program = find_program(plan.argv[0], plan.environment)
    try:
        plan.folder.mkdir(parents=True, exist_ok=True)
        for old in record_files(plan.folder):
            old.unlink()  # records of an earlier launch in the same folder are not this one's
        write_atomically(plan.folder / "policy.json", to_text(plan.artifact))
        if not plan.deferred:  # else the guard will leave it
            text = json.dumps(plan.decision.shown().as_json(), indent=1) + "\n"
            write_atomically(plan.folder / "decision.json", text)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StartError(
            f"{plan.folder}: cannot be written: {reason}; name another with --attest DIR"
        ) from error
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execve(program, plan.argv, dict(plan.environment))  # noqa: S606
    except OSError as error:
        raise StartError(f"{program}: cannot be started: {(error.strerror or str(error)).lower()}") from error
