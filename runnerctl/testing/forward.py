"""A model's `forward` under either runner, and a failure injected into it.

V1 and V2 do not call a model alike: V2 leaves out `intermediate_tensors` where V1 gives None, and each release
adds keywords. A wrapper that names what it takes breaks on one of them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Literal

from policy.input_error import InputError
from runnerctl.testing.hooks import hooks_in_force

__all__ = ["ForwardAdapter", "InjectedFailure", "accepts_any_call", "fail_at", "wrap_forward"]

KIND = "fail"
PIPELINE = "intermediate_tensors"
COUNTED = ("serving", "all")


class InjectedFailure(RuntimeError):  # noqa: N818  (what it is, not that it is one)
    """The failure that `fail_at` asked for."""


class FailAtError(InputError):
    """A forward or rank that there cannot be."""


def accepts_any_call(forward: Callable[..., Any]) -> Callable[..., Any]:
    """`forward`, called as either runner calls: what it does not name is left out where it is None.

    A keyword with a value that `forward` does not take raises `TypeError`: leaving that out would change the model.
    """
    signature = inspect.signature(forward)
    parameters = list(signature.parameters.values())
    named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)

    @functools.wraps(forward)
    def adapted(*args: Any, **kwargs: Any) -> Any:
        if takes_all and PIPELINE in kwargs and PIPELINE not in named and kwargs[PIPELINE] is None:
            del kwargs[PIPELINE]  # it would be passed on to a layer that may not know it
        if not takes_all:
            for name in [name for name in kwargs if name not in named]:
                if kwargs.pop(name) is not None:
                    raise TypeError(f"{forward.__qualname__} is given `{name}`, which it does not take")
        return forward(*args, **kwargs)

    adapted.__signature__ = _widened(signature, named, takes_all)  # type: ignore[attr-defined]
    return adapted


def _widened(signature: inspect.Signature, named: set[str], takes_all: bool) -> inspect.Signature:
    """What vLLM sees when it asks which keywords a model takes."""
    parameters = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    if PIPELINE not in named:
        parameters.append(inspect.Parameter(PIPELINE, inspect.Parameter.KEYWORD_ONLY, default=None))
    rest = next(
        (p.name for p in signature.parameters.values() if takes_all and p.kind is p.VAR_KEYWORD), "kwargs"
    )
    return signature.replace(parameters=[*parameters, inspect.Parameter(rest, inspect.Parameter.VAR_KEYWORD)])


class ForwardAdapter:
    """Mixin: a class's own `forward` may name only what it needs. Write it before the model class."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "forward" in cls.__dict__:
            cls.forward = accepts_any_call(cls.__dict__["forward"])  # type: ignore[attr-defined]


def wrap_forward(model: Any, before: Callable[[], None]) -> Callable[[], None]:
    """Call `before()` at every forward of this one model, whatever it is called with. The result undoes it."""
    original = model.forward
    own = model.__dict__.get("forward")
    active = True

    @functools.wraps(original)
    def forward(*args: Any, **kwargs: Any) -> Any:
        if active:
            before()
        return original(*args, **kwargs)

    model.forward = forward

    def undo() -> None:
        nonlocal active
        active = False
        if model.__dict__.get("forward") is not forward:
            return  # another was put over it, and goes through it
        if own is None:
            del model.forward
        else:
            model.forward = own

    return undo


def fail_at(
    n: int,
    *,
    ranks: Iterable[int] | None = None,
    counting: Literal["serving", "all"] = "serving",
    message: str | None = None,
) -> AbstractContextManager[None]:
    """Engines that start inside fail at the n-th forward on each of `ranks`, all unless given.

    Forwards are counted in each worker by itself: those that serve requests, or with `all` also those of profiling
    and warm-up, which differ between runners. The engine has to run eagerly: a replayed graph calls no forward, and
    the worker says so. Raises `FailAtError`.
    """
    wanted = None if ranks is None else sorted(set(ranks))
    if not isinstance(n, int) or n < 1:
        raise FailAtError(f"forward {n}: they are counted from 1")
    if wanted is not None and (not wanted or wanted[0] < 0):
        raise FailAtError(f"ranks {wanted}: give at least one, counted from 0; leave it out for all")
    if counting not in COUNTED:
        raise FailAtError(f"counting `{counting}`: one of {', '.join(COUNTED)}")
    return hooks_in_force(KIND, {"n": n, "ranks": wanted, "counting": counting, "message": message})
