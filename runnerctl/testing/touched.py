"""What a method does with `self`, read from its source: attributes that it reads, writes and calls."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Touched", "UnreadableError", "assigned", "lends", "read_method"]


class UnreadableError(ValueError):
    """A method whose source is not there to be read."""


@dataclass(frozen=True, slots=True)
class Touched:
    """`reads` include what is called; `calls` those among them; `optional` what is only read with a default.

    `escapes` are uses of `self` that hide what happens to it, each in words.
    """

    reads: frozenset[str]
    writes: frozenset[str]
    calls: frozenset[str]
    optional: frozenset[str]
    escapes: tuple[str, ...]


def read_method(method: Callable[..., Any]) -> Touched:
    """Read one method or property getter. Raises `UnreadableError`."""
    function = _function(method)
    arguments = [*function.args.posonlyargs, *function.args.args]
    if not arguments:
        raise UnreadableError(f"`{function.name}` takes no `self`")
    reader = _Reader(arguments[0].arg)
    for statement in function.body:
        reader.visit(statement)
    return Touched(
        frozenset(reader.reads),
        frozenset(reader.writes),
        frozenset(reader.calls),
        frozenset(reader.optional - reader.reads),
        tuple(dict.fromkeys(reader.escapes)),
    )


def _function(method: Callable[..., Any]) -> ast.FunctionDef | ast.AsyncFunctionDef:
    plain = inspect.unwrap(method)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(plain)))
    except (OSError, TypeError, SyntaxError) as error:
        name = getattr(method, "__qualname__", repr(method))
        raise UnreadableError(f"the source of `{name}` cannot be read") from error
    found = tree.body[0]
    if not isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef):
        raise UnreadableError(f"`{plain.__qualname__}` is not written as a function")
    return found


def lends(method: Callable[..., Any]) -> bool:
    """Whether a method calls the function of its own name of another class, with its own `self`: vLLM's way to lend."""
    try:
        function = _function(method)
    except UnreadableError:
        return False
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == function.name
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id != "self"
        and bool(node.args)
        and isinstance(node.args[0], ast.Name)
        and node.args[0].id == "self"
        for node in ast.walk(function)
    )


class _Reader(ast.NodeVisitor):
    """Collects every use of the name `own`. A use that is none of the known forms is an escape."""

    def __init__(self, own: str) -> None:
        self.own = own
        self.reads: set[str] = set()
        self.writes: set[str] = set()
        self.calls: set[str] = set()
        self.optional: set[str] = set()
        self.escapes: list[str] = []

    def _is_own(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == self.own

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not self._is_own(node.value):
            self.generic_visit(node)
        elif node.attr in ("__dict__", "__class__"):
            self.escapes.append(f"it looks into `{self.own}.{node.attr}`")
        elif isinstance(node.ctx, ast.Load):
            self.reads.add(node.attr)
        else:
            self.writes.add(node.attr)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        target = node.target
        if isinstance(target, ast.Attribute) and self._is_own(target.value):
            self.reads.add(target.attr)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        if isinstance(function, ast.Attribute) and self._is_own(function.value):
            self.calls.add(function.attr)
        if isinstance(function, ast.Name):
            if function.id == "super":
                self.escapes.append("it calls `super()`")
                return
            if function.id in ("getattr", "hasattr", "setattr", "delattr") and self._is_own(node.args[0]):
                self._by_name(function.id, node)
                return
            if function.id in ("vars", "dir") and node.args and self._is_own(node.args[0]):
                self.escapes.append(f"it looks into `{function.id}({self.own})`")
                return
        self.generic_visit(node)

    def _by_name(self, function: str, node: ast.Call) -> None:
        name = node.args[1]
        if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
            verb = "reads" if function in ("getattr", "hasattr") else "writes"
            self.escapes.append(f"it {verb} an attribute that `{ast.unparse(name)}` names only when it runs")
        elif function in ("setattr", "delattr"):
            self.writes.add(name.value)
        elif function == "hasattr" or len(node.args) > 2:
            self.optional.add(name.value)
        else:
            self.reads.add(name.value)
        for argument in node.args[2:]:
            self.visit(argument)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id != self.own:
            return
        if isinstance(node.ctx, ast.Load):
            self.escapes.append(f"it hands `{self.own}` itself on")
        else:
            self.escapes.append(f"it gives `{self.own}` another meaning")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        # A function inside: the name is ours unless it is a parameter of its own.
        if self.own not in {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}:
            self.generic_visit(node)


@functools.cache
def assigned(owner: type) -> Mapping[str, frozenset[str]]:
    """How the methods of a class and its bases make each attribute: the expressions, a call by its callee alone."""
    found: dict[str, set[str]] = {}
    for base in owner.__mro__:
        for name, expression in _assignments(base):
            found.setdefault(name, set()).add(expression)
    return {name: frozenset(expressions) for name, expressions in found.items()}


def _assignments(owner: type) -> Iterator[tuple[str, str]]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(owner)))
    except (OSError, TypeError, SyntaxError):
        return
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        value: ast.expr | None = None
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        for target in targets:
            if (
                isinstance(target, ast.Attribute)
                and ast.unparse(target.value) == "self"
                and value is not None
            ):
                yield target.attr, _made_by(value)


def _made_by(value: ast.expr) -> str:
    """The expression, `self.model_config` and the parameter `model_config` being the same object everywhere."""
    text = f"{ast.unparse(value.func)}(...)" if isinstance(value, ast.Call) else ast.unparse(value)
    return re.sub(r"\bself\.(\w+_config)\b", r"\1", text)
