"""Where the guard takes hold of vLLM 0.22 to 0.33: the property that decides, and the places that build a runner.

`VllmConfig.use_v2_model_runner` is what scheduler, engine core and workers ask. It is wrapped, so that the switch
is what was decided at every question, whoever changed the environment since. What was built is checked in
`EngineArgs.create_engine_config` (front end), `EngineCore._initialize_kv_caches` and `WorkerWrapperBase.init_device`.

A process imports only some of these modules, and a forked child brings its parent's hooks along: each hook waits
for the import of its module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import wrapt

from policy.engine.release import Runner
from policy.facts.fields import SWITCH
from runnerctl.guard.guard import Guard, GuardError

__all__ = ["install", "runner_of"]

# Both runner classes are called GPUModelRunner: only their modules tell them apart. On the CPU the V1 runner is
# vllm.v1.worker.cpu_model_runner, the V2 runner vllm.v1.worker.cpu.model_runner; likewise on the GPU and XPU.
V2_RUNNER_PACKAGES = ("vllm.v1.worker.gpu.", "vllm.v1.worker.cpu.", "vllm.v1.worker.xpu.")

_installed: Guard | None = None


def install() -> Guard:
    """Wrap vLLM in this process, once. Raises `GuardError` when the policy or this vLLM does not allow it."""
    global _installed  # noqa: PLW0603  (one engine process has one guard, as vLLM has one plugin list)
    if _installed is None:
        _installed = guard = Guard.from_environment(os.environ)
        wrapt.register_post_import_hook(lambda m: _pin_variable(m, guard), "vllm.envs")
        wrapt.register_post_import_hook(lambda m: _wrap_config(m, guard), "vllm.config.vllm")
        wrapt.register_post_import_hook(lambda m: _wrap_front_end(m, guard), "vllm.engine.arg_utils")
        wrapt.register_post_import_hook(lambda m: _wrap_engine_core(m, guard), "vllm.v1.engine.core")
        wrapt.register_post_import_hook(lambda m: _wrap_worker(m, guard), "vllm.v1.worker.worker_base")
    return _installed


def _pin_variable(envs: ModuleType, guard: Guard) -> None:
    """vLLM reads the switch through a table of functions: ours gives what was decided, not what stands there."""
    table = envs.environment_variables
    read = table[SWITCH]

    def pinned() -> Any:
        verdict = guard.verdict
        if verdict is None:
            return read()
        return None if verdict.switch is None else bool(int(verdict.switch))

    table[SWITCH] = pinned


def _wrap_config(module: ModuleType, guard: Guard) -> None:
    original = getattr(module.VllmConfig, "use_v2_model_runner", None)
    if not isinstance(original, property) or original.fget is None:
        raise GuardError("this vLLM has no VllmConfig.use_v2_model_runner; the guard knows 0.22 to 0.33")
    ask = original.fget

    def use_v2_model_runner(self: Any) -> bool:
        guard.before_question(self)
        return bool(ask(self))

    module.VllmConfig.use_v2_model_runner = property(use_v2_model_runner, doc=original.__doc__)
    guard.install_architectures(module)


def _wrap_front_end(module: ModuleType, guard: Guard) -> None:
    def check(instance: Any, config: Any) -> None:
        del instance
        guard.attest_config("front-end", config)

    _after(module, "EngineArgs.create_engine_config", check)


def _wrap_engine_core(module: ModuleType, guard: Guard) -> None:
    def check(core: Any, result: Any) -> None:
        del result
        guard.attest_config("engine-core", core.vllm_config)

    _after(module, "EngineCore._initialize_kv_caches", check)


def _wrap_worker(module: ModuleType, guard: Guard) -> None:
    def check(wrapper: Any, result: Any) -> None:
        del result
        built = type(wrapper.worker.model_runner)
        guard.attest_worker(wrapper.vllm_config, built.__module__, runner_of(built), wrapper.global_rank)

    _after(module, "WorkerWrapperBase.init_device", check)


def runner_of(built: type) -> Runner:
    """Which runner a class is, by the modules of its bases: a platform's class extends vLLM's own."""
    modules = [base.__module__ for base in built.__mro__]
    return "v2" if any((m + ".").startswith(V2_RUNNER_PACKAGES) for m in modules) else "v1"


def _after(module: ModuleType, name: str, check: Callable[[Any, Any], None]) -> None:
    """Call `check(instance, result)` after the method `name` of `module` has returned."""

    def wrapper(
        wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        result = wrapped(*args, **kwargs)
        check(instance, result)
        return result

    try:
        wrapt.wrap_function_wrapper(module, name, wrapper)
    except AttributeError as error:
        raise GuardError(
            f"this vLLM has no {module.__name__}.{name}; the guard knows 0.22 to 0.33"
        ) from error
