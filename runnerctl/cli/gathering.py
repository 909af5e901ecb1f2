"""The facts of a command for `resolve`: about this machine, or with a release named about another one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from policy.engine import Catalog
from policy.facts.reading import Reading
from runnerctl.cli.exits import UsageError
from runnerctl.launch.command import read_command
from runnerctl.launch.gather import gather, installation_of

__all__ = ["gather_command"]


def gather_command(
    words: Sequence[str], given: Sequence[Reading], catalog: Catalog
) -> tuple[dict[str, Any], dict[str, str]]:
    """The facts of a command and why some are unknown. `given` are the operator's own facts.

    Where they name a release, the question is not about this machine: neither its environment nor what is
    installed counts. Raises `InputError`.
    """
    command = read_command(words)
    named = next((r.facts["vllm"] for r in reversed(given) if "vllm" in r.facts), None)
    installation = None if named else installation_of(command, os.environ)
    release = named or (installation.release if installation else None)
    if release is None:
        raise UsageError("no vLLM is installed in the environment of this command; give --vllm RELEASE")
    env = command.prefix if named else {**os.environ, **command.prefix}
    found = gather(command, env, release, catalog, installation=installation, given=given)
    return found.document, dict(found.reasons)
