"""Which runners this machine can serve a workload's model with: asked of the catalog before anything is started."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from policy.engine import Catalog, EngineRelease
from policy.engine.release import Runner
from policy.facts.installation import read_installation
from policy.input_error import InputError
from runnerctl.launch.command import EngineCommand
from runnerctl.launch.gather import gather
from runnerctl.launch.plan import decide
from runnerctl.parity.workload import Workload
from runnerctl.testing.guarded import forcing_policy

__all__ = ["AskError", "why_not"]


class AskError(InputError):
    """There is no engine to compare runners of, or not one that the catalog knows."""


def why_not(runner: Runner, workload: Workload, env: Mapping[str, str], catalog: Catalog) -> str | None:
    """Why `runner` cannot serve the workload's model here, in vLLM's words, or None. Raises `InputError`.

    What is not known (a model that only the hub has) is left to the guard.
    """
    python = Path(sys.executable)
    installation = read_installation(python, env)
    if installation.release is None:
        raise AskError(f"no vLLM is installed for {python}; run runnerctl from vLLM's own environment")
    if not installation.has_guard:
        raise AskError(f"the guard of runnerctl is not installed for {python}")
    release = installation.release
    engine = catalog.find(release)
    if not isinstance(engine, EngineRelease):
        raise AskError(str(engine))
    arguments = (workload.model, *workload.engine_args)
    command = EngineCommand(("vllm", "serve", *arguments), arguments)
    gathered = gather(command, env, release, catalog, installation=installation, online=True)
    names = catalog.architecture_names(engine.release)
    layers = [("process environment", env)]
    decision = decide(forcing_policy(runner), engine, gathered, layers, names, strict_env=False)
    if decision.status != "error":
        return None
    return "; ".join(failure.message for failure in decision.errors)
