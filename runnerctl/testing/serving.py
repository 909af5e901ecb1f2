"""Whether a release on a machine can serve a runner: asked of the catalog, as every verb asks it."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Any

from policy.decision import resolve
from policy.decision.serving import SWITCH_PATH, SWITCH_VALUES
from policy.engine import Catalog
from policy.facts.facts import Facts, merge_facts, nest
from policy.facts.fields import SWITCH, expand, field, suggest
from policy.facts.installation import read_installation
from policy.facts.machine import read_machine
from policy.facts.reading import Reading
from policy.input_error import InputError
from policy.rules.policy_set import PolicySet
from runnerctl.testing.force import as_runner

__all__ = ["FactError", "given_facts", "machine_facts", "why_not_served"]


class FactError(InputError):
    """A fact that vLLM has not."""


def given_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """A nested facts document of keywords: `architectures`, `platform`, dotted paths, `parallel_config__x`.

    A name alone that is no fact is one of `model_config`: `is_moe=True`. Raises `FactError`.
    """
    return nest({_path(name): value for name, value in facts.items()})


def _path(name: str) -> str:
    dotted = expand(name.replace("__", "."))
    for path in (dotted, f"model_config.{dotted}"):
        if field(path) is not None:
            return path
    raise FactError(
        f"unknown fact `{name}`; {suggest(dotted if '.' in dotted else f'model_config.{dotted}')}"
    )


@functools.cache
def _installed() -> Reading:
    """What this interpreter's installation and machine say; read once, a test run has one."""
    installation = read_installation(None)
    machine = read_machine(installation, os.environ)
    if installation.release is None:
        return Reading()  # whoever asks has to name a release, and it may run anywhere
    return Reading({"vllm": installation.release, **machine.facts}, machine.unknown)


def machine_facts() -> Reading:
    """The facts of the vLLM installed here and of this machine; empty where none is installed."""
    return _installed()


def why_not_served(
    runner: str,
    *,
    release: str | None = None,
    facts: Mapping[str, Any] | None = None,
    catalog: Catalog | None = None,
) -> str | None:
    """Why `runner` cannot be had here, or None. What nobody knows is no reason: the test itself will show it.

    `release` is the one to ask about, the installed one unless given; `facts` are those of the deployment, as
    `given_facts` takes them. Raises `InputError`.
    """
    wanted = as_runner(runner)
    readings = [machine_facts(), Reading({"model_config": {}}), Reading(given_facts(facts or {}))]
    if release is not None:
        readings.append(Reading({"vllm": release}))
    document, reasons = merge_facts(readings)
    version = document.get("vllm")
    if version is None:
        return "no vLLM is installed here; name a release with --vllm-release"
    question = Facts({**document, "env": {}}).replace(SWITCH_PATH, SWITCH_VALUES[wanted])
    decision = resolve(PolicySet(), (catalog or Catalog()).find(version), question, reasons=reasons)
    if decision.status == "error":
        return "; ".join(failure.message for failure in decision.errors)
    if decision.status == "ok" and decision.runner != wanted:
        because = "; ".join(decision.warnings) or (decision.decided_by.reason if decision.decided_by else "")
        return f"vLLM {version} uses {decision.runner} here, also with {SWITCH}={SWITCH_VALUES[wanted]}: {because}"
    return None
