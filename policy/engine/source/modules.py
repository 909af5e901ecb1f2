"""Classes and functions of one vLLM release, found across modules by `ast`."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass

from policy.engine.source.tree import Tree

__all__ = ["Definition", "Sources", "words_in"]

# Where model code lives; what it imports from elsewhere (layers, kernels) is shared by all models.
MODEL_PACKAGES = ("vllm.model_executor.models.", "vllm.models.")
# Shared by all models too, though it lives with them.
SHARED = {
    f"vllm.model_executor.models.{name}" for name in ("utils", "interfaces", "interfaces_base", "registry")
}
# Functions that make a pooling model of the class they are given (vllm/model_executor/models/adapters.py).
ADAPTERS = {"as_embedding_model", "as_seq_cls_model", "as_reward_model"}


@dataclass(frozen=True)
class Definition:
    """A class, function or assigned value (`Base = as_embedding_model(Other)`, `LAYERS = {...}`) in a module."""

    module: str
    name: str
    node: ast.ClassDef | ast.FunctionDef | ast.expr


class Sources:
    """One release. Modules are parsed when first asked for."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._modules: dict[str, ast.Module] = {}
        self._names: dict[str, dict[str, ast.AST]] = {}
        self._resolved: dict[tuple[str, str], Definition | None] = {}
        self._below: dict[Definition, tuple[Definition, ...]] = {}
        self._paths: dict[str, str | None] = {}

    def path(self, module: str) -> str | None:
        """The file of a module, None where the release does not have it."""
        if module not in self._paths:
            base = module.replace(".", "/")
            files = (f"{base}.py", f"{base}/__init__.py")
            self._paths[module] = next((path for path in files if self.tree.has(path)), None)
        return self._paths[module]

    def module(self, module: str) -> ast.Module:
        """The parsed module. Raises `LookupError` when the release does not have it, `SourceError` when it is broken."""
        if module not in self._modules:
            path = self.path(module)
            if path is None:
                raise LookupError(f"no module {module}")
            self._modules[module] = self.tree.parse(path)
        return self._modules[module]

    def top_names(self, module: str) -> dict[str, ast.AST]:
        """What a module binds: definitions, and imports as (`ImportFrom`); the last of several branches counts.

        The last branch is the one for CUDA where packages choose an implementation by platform, and the
        re-definition where a class is first declared for type checkers only.
        """
        if module not in self._names:
            bound: dict[str, ast.AST] = {}
            for node in statements(self.module(module).body):
                if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                    bound[node.name] = node
                elif isinstance(node, ast.ImportFrom):
                    bound |= {(alias.asname or alias.name): node for alias in node.names}
                elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    bound[node.targets[0].id] = node.value
            self._names[module] = bound
        return self._names[module]

    def resolve(self, module: str, name: str) -> Definition | None:
        """The definition that a name in a module stands for, through imports; None outside of model code."""
        key = (module, name)
        if key not in self._resolved:
            self._resolved[key] = None  # two modules that import a name from each other end here
            self._resolved[key] = self._resolve(module, name) if self.path(module) else None
        return self._resolved[key]

    def _resolve(self, module: str, name: str) -> Definition | None:
        node = self.top_names(module).get(name)
        if isinstance(node, ast.Name) and node.id != name:
            return self.resolve(module, node.id)
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.expr)):
            return Definition(module, name, node)
        if isinstance(node, ast.ImportFrom):
            source = self._absolute(module, node)
            original = next(a.name for a in node.names if (a.asname or a.name) == name)
            return self.resolve(source, original) if f"{source}.".startswith(MODEL_PACKAGES) else None
        return None

    def _absolute(self, module: str, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        path = self.path(module)
        up = node.level - (1 if path is not None and path.endswith("/__init__.py") else 0)
        parts = module.split(".")
        package = parts[: len(parts) - up] if up else parts
        return ".".join([*package, *([node.module] if node.module else [])])

    def bases(self, definition: Definition) -> Iterator[Definition]:
        """The vLLM classes that a class inherits from directly."""
        node = definition.node
        expressions = (
            node.bases if isinstance(node, ast.ClassDef) else [node] if isinstance(node, ast.expr) else []
        )
        for expression in expressions:
            for base in unwrapped(expression):
                if found := self.resolve(definition.module, base):
                    yield found

    def attribute(self, definition: Definition, name: str) -> bool:
        """Whether a class has a method of that name, or an attribute that is not False, itself or inherited."""
        node = definition.node
        if name == "is_pooling_model" and makes_pooling_model(node):
            return True
        own = own_attribute(node, name) if isinstance(node, ast.ClassDef) else None
        if own is not None:
            return own
        return any(self.attribute(base, name) for base in self.bases(definition))

    def reachable(self, start: Definition) -> list[Definition]:
        """The definitions in model code that a class refers to, directly or through others; itself included."""
        seen: dict[Definition, None] = {}
        waiting = [start]
        while waiting:
            definition = waiting.pop()
            if definition not in seen and is_model_code(definition.module):
                seen[definition] = None
                waiting.extend(self._refers_to(definition))
        return list(seen)

    def _refers_to(self, definition: Definition) -> tuple[Definition, ...]:
        if definition not in self._below:
            known = self.top_names(definition.module).keys() & words_in(definition.node)
            found = (self.resolve(definition.module, name) for name in sorted(known))
            self._below[definition] = tuple(one for one in found if one is not None)
        return self._below[definition]


def is_model_code(module: str) -> bool:
    return module.startswith(MODEL_PACKAGES) and module not in SHARED


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements at the top of a module, inside `if` and `try` too."""
    for node in body:
        if isinstance(node, ast.If):
            yield from statements(node.body)
            yield from statements(node.orelse)
        elif isinstance(node, ast.Try):
            yield from statements(node.body)
            for handler in node.handlers:
                yield from statements(handler.body)
        else:
            yield node


def unwrapped(expression: ast.expr) -> Iterator[str]:
    """The class names in a base: `Base`, `Base[T]`, `adapter(Base)`."""
    if isinstance(expression, ast.Name):
        yield expression.id
    elif isinstance(expression, ast.Subscript):
        yield from unwrapped(expression.value)
    elif isinstance(expression, ast.Call):
        for argument in expression.args:
            yield from unwrapped(argument)


def makes_pooling_model(node: ast.AST) -> bool:
    """Whether a definition, or one of a class's bases, is a call of an adapter."""
    calls = node.bases if isinstance(node, ast.ClassDef) else [node]
    return any(
        isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ADAPTERS
        for call in calls
    )


def own_attribute(node: ast.ClassDef, name: str) -> bool | None:
    """What the body of a class says of an attribute; None where it says nothing."""
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == name:
            return True
        value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        if value is not None and any(
            isinstance(target, ast.Name) and target.id == name for target in targets
        ):
            return not (isinstance(value, ast.Constant) and not value.value)
    return None


@functools.cache
def words_in(node: ast.AST) -> frozenset[str]:
    """Names, attributes, argument names and short strings in a definition."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Attribute):
            found.add(part.attr)
        elif isinstance(part, ast.arg):
            found.add(part.arg)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and len(part.value) < 40:
            found.add(part.value)
    return frozenset(found)
