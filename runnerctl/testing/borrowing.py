"""Whether a method of V1's runner can be borrowed by a V2 runner, and the borrowing.

vLLM itself lends some (`reload_weights`, `apply_sparse_weight_patches` in 0.23) by calling V1's function with a V2
`self`. That works only as long as all that the function touches is there and means the same: which is what is
checked here first, attribute by attribute.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from policy.engine.release import Runner
from runnerctl.testing.touched import Touched, UnreadableError, assigned, lends, read_method

__all__ = ["ForwardRefused", "Verdict", "forward_to_v1", "v1_class_of"]

# The V1 runner that stands beside each V2 runner.
V1_OF = {
    "vllm.v1.worker.gpu.": ("vllm.v1.worker.gpu_model_runner", "GPUModelRunner"),
    "vllm.v1.worker.cpu.": ("vllm.v1.worker.cpu_model_runner", "CPUModelRunner"),
    "vllm.v1.worker.xpu.": ("vllm.v1.worker.xpu_model_runner", "XPUModelRunner"),
}


class ForwardRefused(TypeError):  # noqa: N818  (what happened, not that it is an error)
    """V1's method was not called, because it would not do under V2 what it does under V1."""


@dataclass(frozen=True)
class Verdict:
    """Whether `method` may be called on a V2 runner: if there are no `problems`.

    `by` is whose code runs: the runner's own, or V1's. `reads`, `writes` and `borrowed` are what V1's code touches,
    and which other methods of V1 it brings along.
    """

    method: str
    by: Runner
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    borrowed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    call_unchecked: Callable[..., Any] | None = field(default=None, repr=False, compare=False)

    @property
    def safe(self) -> bool:
        return not self.problems

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method on the runner that was asked about. Raises `ForwardRefused`."""
        if self.call_unchecked is None or not self.safe:
            raise ForwardRefused(self.explanation)
        return self.call_unchecked(*args, **kwargs)

    @property
    def explanation(self) -> str:
        """One sentence, or one line for each problem."""
        if self.safe:
            return f"`{self.method}` can be called: the code is {self.by}'s"
        lines = "".join(f"\n  {problem}" for problem in self.problems)
        return f"V1's `{self.method}` cannot be called on this V2 runner:{lines}"


def v1_class_of(runner: Any) -> type:
    """The V1 class that stands beside the class of a V2 runner. Raises `ForwardRefused` for another's runner."""
    for base in type(runner).__mro__:
        for prefix, (module, name) in V1_OF.items():
            if f"{base.__module__}.".startswith(prefix):
                found: type = getattr(importlib.import_module(module), name)
                return found
    raise ForwardRefused(
        f"{type(runner).__module__}.{type(runner).__qualname__} is no V2 runner of vLLM's; name its V1 class"
    )


def forward_to_v1(runner: Any, method: str, *, v1: type | None = None) -> Verdict:
    """Say whether V1's `method` can be called on `runner`, a live V2 runner, and give the way to call it.

    A method that the runner has itself is its own, unless vLLM only lends it there, unchecked. `v1` is the class to borrow from, vLLM's own unless given.
    Raises `ForwardRefused` where there is no such class; everything else is in the verdict.
    """
    own = getattr(runner, method, None)
    if callable(own) and not lends(own):
        return Verdict(method, _generation(runner), call_unchecked=own)
    lender = v1 or v1_class_of(runner)
    if not callable(getattr(lender, method, None)):
        problem = f"neither {lender.__name__} of V1 nor the runner has a method `{method}`"
        return Verdict(method, "v1", problems=(problem,))
    loan = _Loan(runner, lender)
    loan.take(method, ())
    bound = own or functools.partial(_plain(lender, method), loan.view())
    return Verdict(
        method,
        "v1",
        tuple(sorted(loan.reads)),
        tuple(sorted(loan.writes)),
        tuple(sorted(loan.taken - {method})),
        tuple(loan.problems),
        bound,
    )


def _generation(runner: Any) -> Runner:
    modules = [base.__module__ for base in type(runner).__mro__]
    return "v2" if any(f"{m}.".startswith(tuple(V1_OF)) for m in modules) else "v1"


def _plain(owner: type, name: str) -> Callable[..., Any]:
    found = inspect.getattr_static(owner, name)
    if isinstance(found, property):
        found = found.fget
    function: Callable[..., Any] = found
    return function


class _Loan:
    """Follows a method through whatever else of V1 it needs, and notes what does not fit the V2 runner."""

    def __init__(self, runner: Any, lender: type) -> None:
        self.runner = runner
        self.lender = lender
        self.reads: set[str] = set()
        self.writes: set[str] = set()
        self.taken: set[str] = set()
        self.problems: list[str] = []

    def view(self) -> Any:
        """What V1's code gets as `self`: the runner, and the methods of V1 that it lacks."""
        return _View(self.runner, self.lender, frozenset(self.taken))

    def take(self, method: str, path: tuple[str, ...]) -> None:
        """Check one method of V1, and those that it calls and the runner lacks."""
        if method in self.taken:
            return
        self.taken.add(method)
        way = (*path, method)
        found = inspect.getattr_static(self.lender, method)
        if isinstance(found, staticmethod | classmethod):
            return  # touches no runner
        try:
            touched = read_method(_plain(self.lender, method))
        except UnreadableError as error:
            self._problem(way, str(error))
            return
        self._check(touched, way)

    def _problem(self, way: tuple[str, ...], text: str) -> None:
        inner = " → ".join(f"`{name}`" for name in way[1:])
        line = f"{text} (through {inner})" if inner else text
        if line not in self.problems:
            self.problems.append(line)

    def _check(self, touched: Touched, way: tuple[str, ...]) -> None:
        self.reads |= touched.reads
        self.writes |= touched.writes
        for escape in touched.escapes:
            self._problem(way, escape)
        for name in sorted(touched.writes):
            if not hasattr(self.runner, name):
                self._problem(way, f"it writes `{name}`, which V2 does not have: nobody there would read it")
            elif (problem := self._differs(name)) is not None:
                self._problem(way, f"it writes {problem}")
        for name in sorted(touched.reads - touched.writes):
            self._check_read(name, name in touched.calls, way)
        for name in sorted(touched.optional):
            if hasattr(self.runner, name) and (problem := self._differs(name)) is not None:
                self._problem(way, f"it reads {problem}")

    def _check_read(self, name: str, called: bool, way: tuple[str, ...]) -> None:
        there = inspect.getattr_static(self.lender, name, None)
        is_code = inspect.isfunction(there) or isinstance(there, property | staticmethod | classmethod)
        if not hasattr(self.runner, name):
            if is_code:
                self.take(name, way)
            else:
                verb = "calls" if called else "reads"
                self._problem(way, f"it {verb} `{name}`, which V2 does not have")
        elif is_code:
            if (problem := self._other_method(name)) is not None:
                self._problem(way, problem)
        elif (problem := self._differs(name)) is not None:
            self._problem(way, f"it reads {problem}")

    def _other_method(self, name: str) -> str | None:
        """Why the runner's own method `name` is another than V1's, or None."""
        ours, theirs = (
            inspect.getattr_static(owner, name, None) for owner in (type(self.runner), self.lender)
        )
        if ours is theirs:
            return None
        if isinstance(ours, property) or isinstance(theirs, property):
            return self._other_property(name, ours, theirs)
        if not inspect.isfunction(ours) or not inspect.isfunction(theirs):
            return f"it calls `{name}`, which is no method of V2's class"
        here, wanted = inspect.signature(ours), inspect.signature(theirs)
        if list(here.parameters) != list(wanted.parameters) or _said(here) != _said(wanted):
            return f"it calls `{name}{wanted}`, which is `{name}{here}` under V2"
        return None

    def _other_property(self, name: str, ours: Any, theirs: Any) -> str | None:
        if isinstance(ours, property) and isinstance(theirs, property) and ours.fget and theirs.fget:
            here, wanted = inspect.signature(ours.fget), inspect.signature(theirs.fget)
            if _said(here) == _said(wanted):
                return None
        return f"it reads `{name}`, which is another property under V2"

    def _differs(self, name: str) -> str | None:
        """Why the attribute `name` of the runner may mean another thing than V1's, or None where that is ruled out."""
        constant = inspect.getattr_static(self.lender, name, _MISSING)
        if constant is not _MISSING:
            ours = inspect.getattr_static(type(self.runner), name, _MISSING)
            same = ours is not _MISSING and type(ours) is type(constant) and ours == constant
            return None if same else f"`{name}`, which V1's class gives as {constant!r}, and V2's does not"
        value, wanted = getattr(self.runner, name), _made(self.lender, name)
        shared = wanted & _made(type(self.runner), name)
        means_the_same = (
            any(_tells(expression) for expression in shared)  # made in the same way
            or any(self._is_from_config(expression, value) for expression in wanted)
            or any(_is_made_by(expression, value) for expression in wanted)
        )
        return None if means_the_same else _difference(name, value, wanted, shared)

    def _is_from_config(self, expression: str, value: Any) -> bool:
        """Whether V1 takes the attribute from the engine's config, and V2's is that very object."""
        steps = expression.removeprefix("self.").split(".")
        node = getattr(self.runner, "vllm_config", None)
        if not all(step.isidentifier() for step in steps) or node is None:
            return False
        for step in steps[1:] if steps[0] == "vllm_config" else steps:
            node = getattr(node, step, _MISSING)
        return node is value


_MISSING = object()


def _made(owner: type, name: str) -> frozenset[str]:
    return assigned(owner).get(name, frozenset())


def _said(signature: inspect.Signature) -> str:
    return str(signature.return_annotation)


def _difference(name: str, value: Any, wanted: frozenset[str], shared: frozenset[str]) -> str:
    if not wanted:
        return f"`{name}`, and nothing in V1's class says what that is"
    if shared:
        begins = " or ".join(f"`{expression}`" for expression in sorted(shared))
        return f"`{name}`, which begins as {begins} in both, and what goes in is not told"
    made = " or ".join(f"`{expression}`" for expression in sorted(wanted))
    return f"`{name}`, which V1 makes by {made}, and V2 has a {type(value).__name__} there"


def _tells(expression: str) -> bool:
    """Whether an expression says what an attribute is for: `None`, `[]` and `dict(...)` are any attribute's beginning."""
    if expression.removesuffix("(...)") in vars(builtins):
        return False
    try:
        ast.literal_eval(expression)
    except (ValueError, SyntaxError):
        return True
    return False


def _is_made_by(expression: str, value: Any) -> bool:
    """Whether an expression calls the class that the value is of, and that is a class that says something."""
    callee = expression.removesuffix("(...)")
    named = callee != expression and callee.rpartition(".")[2] == type(value).__name__
    return named and type(value).__module__ != "builtins"


class _View:
    """A runner that also has some of V1's methods; what is written to it is written to the runner."""

    __slots__ = ("_lender", "_runner", "_taken")

    def __init__(self, runner: Any, lender: type, taken: frozenset[str]) -> None:
        object.__setattr__(self, "_runner", runner)
        object.__setattr__(self, "_lender", lender)
        object.__setattr__(self, "_taken", taken)

    def __getattr__(self, name: str) -> Any:
        if name in self._taken and not hasattr(type(self._runner), name):
            return inspect.getattr_static(self._lender, name).__get__(self, self._lender)
        return getattr(self._runner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._runner, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._runner, name)
