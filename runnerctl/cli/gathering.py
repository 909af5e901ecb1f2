"""The facts of a command for `resolve`: about this machine, or with a release named about another one."""

from __future__ import annotations

import os
from collections.abc import Sequence

from policy.decision.resolve import Layers
from policy.engine import Catalog
from policy.facts.reading import Reading
from runnerctl.cli.exits import UsageError
from runnerctl.launch.command import read_command
from runnerctl.launch.gather import Gathered, gather, installation_of
from runnerctl.launch.layers import merged, operator_layers

__all__ = ["gather_command"]


def gather_command(
    words: Sequence[str], given: Sequence[Reading], catalog: Catalog
) -> tuple[Gathered, Layers]:
    """The facts of a command, and the layers of its environment. `given` are the operator's own facts.

    Where they name a release, the question is not about this machine: neither its environment nor what is
    installed counts. The hub is not asked. Raises `InputError`.
    """
    command = read_command(words)
    named = next((r.facts["vllm"] for r in reversed(given) if "vllm" in r.facts), None)
    layers = operator_layers({} if named else os.environ, command, (), ())
    env = merged(layers)
    installation = None if named else installation_of(command, env)
    release = named or (installation.release if installation else None)
    if release is None:
        raise UsageError("no vLLM is installed in the environment of this command; give --vllm RELEASE")
    found = gather(command, env, release, catalog, installation=installation, given=given, online=False)
    return found, layers
