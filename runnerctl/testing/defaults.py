"""Which runner a release gives an architecture: asserted in one line, and explained where it is another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from policy.decision import Decision, resolve
from policy.engine import Catalog, EngineRelease
from policy.engine.release import RUNNERS
from policy.facts.facts import Facts
from policy.facts.fields import SWITCH
from policy.input_error import InputError
from policy.matrix.architecture import architecture_facts
from policy.rules.policy_set import load_policies
from runnerctl.testing.serving import given_facts

__all__ = ["REFUSED", "assert_default_runner", "default_runner", "deployment"]

REFUSED: Literal["refused"] = "refused"

_catalog = cache(Catalog)


class ExpectationError(InputError):
    """An answer that no release gives."""


def deployment(
    architecture: str,
    release: str,
    *,
    switch: str | None = None,
    catalog: Catalog | None = None,
    **facts: Any,
) -> Facts:
    """The facts of a plain checkpoint of `architecture` on a CUDA machine with Triton, with `facts` on top.

    `switch` is the value of VLLM_USE_V2_MODEL_RUNNER, None for not set. What only a checkpoint can tell (whether
    a class that can have experts does) is unknown until it is given. Raises `FactError`.
    """
    known = catalog or _catalog()
    found = known.find(release)
    names = known.names(found.release) if isinstance(found, EngineRelease) else None
    entry = (names or {}).get("architectures", {}).get(architecture, {})
    over = {"vllm": release, "env": {} if switch is None else {SWITCH: switch}, **given_facts(facts)}
    return Facts(architecture_facts(architecture, entry, over))


def default_runner(
    architecture: str,
    release: str,
    *,
    switch: str | None = None,
    policies: Sequence[str | Path] = (),
    catalog: Catalog | None = None,
    **facts: Any,
) -> Decision:
    """The decision for such a deployment, under `policies` (files or folders) if there are any."""
    known = catalog or _catalog()
    engine = known.find(release)
    paths = [policies] if isinstance(policies, (str, Path)) else list(policies)
    question = deployment(architecture, release, switch=switch, catalog=known, **facts)
    return resolve(load_policies(paths), engine, question, names=known.names_of(engine))


def assert_default_runner(
    architecture: str,
    release: str,
    expected: Literal["v1", "v2", "refused"],
    *,
    switch: str | None = None,
    policies: Sequence[str | Path] = (),
    catalog: Catalog | None = None,
    **facts: Any,
) -> None:
    """Fail unless `release` runs `architecture` with the `expected` runner, or refuses it.

        assert_default_runner("LlamaForCausalLM", "0.23.0", "v2")
        assert_default_runner("LlamaForCausalLM", "0.23.0", "v1", is_quantized=True)
        assert_default_runner("LlamaForCausalLM", "0.23.0", "refused", switch="1", has_triton=False)

    Raises `AssertionError` with the decision and who made it, `InputError` for a question that cannot be asked.
    """
    __tracebackhide__ = True
    if expected not in (*RUNNERS, REFUSED):
        raise ExpectationError(f"`{expected}` is no answer; one of {', '.join((*RUNNERS, REFUSED))}")
    decision = default_runner(
        architecture, release, switch=switch, policies=policies, catalog=catalog, **facts
    )
    found = REFUSED if decision.status == "error" else decision.runner
    if found == expected:
        return
    said = found or decision.status
    lines = "".join(f"\n  {line}" for line in _reasons(decision))
    raise AssertionError(f"{architecture} under vLLM {release}: {said}, expected {expected}{lines}")


def _reasons(decision: Decision) -> Iterator[str]:
    by = decision.decided_by
    if by is not None and by.layer == "policy":
        yield f"rule {by.rule} ({by.enforce}, {by.location}): {by.reason}"
    elif by is not None:
        yield f"{'the switch' if by.layer == 'environment' else 'vLLM itself'}: {by.reason}"
    yield from (failure.message for failure in decision.errors)
    yield from decision.warnings
