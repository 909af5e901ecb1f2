"""Forces a model runner: the switch is last whatever the environment holds, and what was there comes back.

`force_runner` is pure: an environment in, an environment and what it overrode out. `forced_runner` does it to this
process, and so to every child that inherits its environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any

from policy.decision.serving import SWITCH_VALUES
from policy.engine.release import RUNNERS, Runner
from policy.environment import Override, merge_layers, same_variable
from policy.facts.fields import SWITCH
from policy.input_error import InputError
from policy.secret import shown
from runnerctl.handover import COMPILED_POLICY, VERDICT, Verdict

__all__ = ["ForceError", "ForcedEnvironment", "as_runner", "force_runner", "forced_runner", "ray_runtime_env"]

Layers = Sequence[tuple[str, Mapping[str, str]]]


class ForceError(InputError):
    """A runner that is none, or an environment that no process could have."""


class ForcedEnvironment(Mapping[str, str]):
    """The variables, the switch last among them, to be passed on as they are: `subprocess.run(..., env=forced)`.

    `overrides` are the values of the switch that lost, in every spelling, and values that one layer replaced in
    another.
    """

    def __init__(self, runner: Runner, variables: Mapping[str, str], overrides: tuple[Override, ...]) -> None:
        self.runner = runner
        self.overrides = overrides
        self._variables = dict(variables)

    def __getitem__(self, name: str) -> str:
        return self._variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __repr__(self) -> str:  # the values may be secrets
        return f"ForcedEnvironment({self.runner!r}, {len(self)} variables, {len(self.overrides)} overridden)"

    @property
    def report(self) -> str:
        """One line for each value that lost, secrets hidden; empty where nothing stood against the force."""
        lines = (
            f"{o.name}={shown(o.name, o.value)} from {o.source} overridden by {o.by}" for o in self.overrides
        )
        return "\n".join(lines)


def as_runner(name: str) -> Runner:
    """`name` as a runner. Raises `ForceError` for anything but `v1` and `v2`."""
    for runner in RUNNERS:
        if name == runner:
            return runner
    raise ForceError(f"`{name}` is no model runner; the runners are {' and '.join(RUNNERS)}")


def force_runner(runner: str, env: Mapping[str, str] | Layers) -> ForcedEnvironment:
    """`env` with the switch of `runner` last. Changes nothing outside; raises `ForceError`.

    `env` is one mapping, or layers `(name, mapping)` from the weakest to the strongest. Every spelling of the
    switch in any of them (other letters' case, blanks around it) is taken out and reported.
    """
    wanted = as_runner(runner)
    layers: Layers = [("env", env)] if isinstance(env, Mapping) else _listed(env)
    for source, layer in layers:
        for name, value in layer.items():
            if not (isinstance(name, str) and isinstance(value, str)):
                raise ForceError(f"{source}: `{name}` is {type(value).__name__}; a variable is text")
    merged = merge_layers(layers, forced=SWITCH_VALUES[wanted], unset=False, by=f"force_runner({wanted!r})")
    return ForcedEnvironment(wanted, merged.variables, merged.overrides)


def _listed(layers: Layers) -> Layers:
    """The layers, which may come from a generator."""
    try:
        found = [(str(source), layer) for source, layer in layers]
    except (TypeError, ValueError) as error:
        raise ForceError("give one mapping, or layers (name, mapping)") from error
    for source, layer in found:
        if not isinstance(layer, Mapping):
            raise ForceError(f"{source}: {type(layer).__name__} is no mapping of variables")
    return found


@contextmanager
def forced_runner(
    runner: str, environ: MutableMapping[str, str] | None = None
) -> Iterator[ForcedEnvironment]:
    """Force `runner` in `environ` (this process's, unless given) and give it back exactly as it was.

    Children that start inside get it, however they start: spawn, fork and subprocess inherit the environment, and
    vLLM copies its own variables to Ray's workers (`ray_runtime_env` is for actors of one's own). What a
    test itself does to the switch inside is undone too.
    """
    target = os.environ if environ is None else environ
    _refuse_under_a_guard(target, as_runner(runner))
    forced = force_runner(runner, [("process environment", dict(target))])
    before = _spellings(target)
    try:
        _replace(target, {SWITCH: forced[SWITCH]})
        _forget_cached_values()
        yield forced
    finally:
        _replace(target, before)
        _forget_cached_values()


def _refuse_under_a_guard(environ: Mapping[str, str], runner: Runner) -> None:
    """A guard would put the switch back at vLLM's first question: better to hear it here. Raises `ForceError`."""
    if COMPILED_POLICY not in environ:
        return
    given = environ.get(VERDICT)
    try:
        verdict = Verdict.from_json(given) if given else None
    except (ValueError, KeyError, TypeError) as error:
        raise ForceError(f"{VERDICT} is not what a guard leaves: `{given}`") from error
    if verdict is not None and verdict.runner == runner:
        return
    who = f"{verdict.who} decided {verdict.runner}" if verdict else "its guard will decide"
    raise ForceError(
        f"this process stands under a compiled policy, and {who}: {runner} cannot be forced here; "
        "give the policy to the launch, or run the test outside it"
    )


def _spellings(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if same_variable(name, SWITCH)}


def _replace(environ: MutableMapping[str, str], variables: Mapping[str, str]) -> None:
    """Leave `variables` as the only spellings of the switch."""
    for name in _spellings(environ):
        if name not in variables:
            del environ[name]
    environ.update(variables)


def _forget_cached_values() -> None:
    """vLLM keeps what it has read of the environment once an engine has started in this process."""
    envs = sys.modules.get("vllm.envs")
    forget = getattr(getattr(envs, "__getattr__", None), "cache_clear", None)
    if forget is not None:
        forget()


def ray_runtime_env(runner: str, runtime_env: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A copy of Ray's `runtime_env` whose `env_vars` force `runner`. Raises `ForceError`."""
    given = dict(runtime_env or {})
    variables = given.get("env_vars") or {}
    if not isinstance(variables, Mapping):
        raise ForceError(f"runtime_env: `env_vars` is {type(variables).__name__}; it is a mapping")
    return {**given, "env_vars": dict(force_runner(runner, [("runtime_env env_vars", variables)]))}
