"""The code of one vLLM release that decides on the runner, as syntax trees.

Found from its two ends and followed through what it names: the property `VllmConfig.use_v2_model_runner`, and the
statements that check the runner in `VllmConfig.__post_init__` and in the worker; then every method of the config
and every function or constant of its module that these refer to. What is a fact of ours (`is_mm_encoder_only`) is
not followed: facts are where the code and the catalog meet.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from policy.engine.source.tree import ENVS, SourceError, Tree
from policy.facts.fields import SWITCH
from policy.facts.fields import field as known_field

__all__ = ["PROVIDED", "DecidingCode", "called_methods", "read_deciding_code", "says_only"]

CONFIG = "vllm/config/vllm.py"
WORKER = "vllm/v1/worker/gpu_worker.py"
PROPERTY = "use_v2_model_runner"
VALIDATORS = ("_validate_v1_model_runner", "_validate_v2_model_runner")
# Names that are the surroundings of the decision, not part of it.
PROVIDED = frozenset({"envs", "logger", "current_platform", "HAS_TRITON", "entry_points"})

Function = ast.FunctionDef


@dataclass(frozen=True)
class DecidingCode:
    """`methods` of `VllmConfig`, `module` names of its module, `checks` of its `__post_init__`, of the `worker`'s
    constructor, and the `switch`: the expression that reads the variable, with the `readers` that it calls."""

    source: str
    methods: Mapping[str, Function] = field(default_factory=dict)
    module: Mapping[str, ast.stmt] = field(default_factory=dict)
    checks: tuple[ast.stmt, ...] = ()
    worker: tuple[ast.stmt, ...] = ()
    switch: ast.expr | None = None
    readers: Mapping[str, ast.stmt] = field(default_factory=dict)

    def parts(self) -> dict[str, tuple[ast.AST, ...]]:
        """Every piece under the name by which people look for it in vLLM's source."""
        found: dict[str, tuple[ast.AST, ...]] = {name: (node,) for name, node in self.methods.items()}
        found |= {name: (node,) for name, node in self.module.items()}
        found |= {f"envs.{name}": (node,) for name, node in self.readers.items()}
        if self.checks:
            found["VllmConfig.__post_init__"] = self.checks
        if self.worker:
            found["Worker.__init__"] = self.worker
        if self.switch is not None:
            found[f"envs.{SWITCH}"] = (self.switch,)
        return dict(sorted(found.items()))

    def nodes(self) -> Iterator[ast.AST]:
        """Every node of what runs inside the config."""
        for root in (*self.methods.values(), *self.module.values(), *self.checks):
            yield from ast.walk(root)


def read_deciding_code(tree: Tree) -> DecidingCode:
    """Read a source. A release from before Model Runner V2 gives code without parts. Raises `SourceError`."""
    switch, readers = _switch(tree)
    worker = tuple(_worker_statements(tree)) if tree.has(WORKER) else ()
    if not tree.has(CONFIG):
        return DecidingCode(tree.name, worker=worker, switch=switch, readers=readers)
    module = tree.parse(CONFIG)
    config = next((n for n in module.body if isinstance(n, ast.ClassDef) and n.name == "VllmConfig"), None)
    if config is None:
        raise SourceError(f"{tree.name}: {CONFIG} has no class VllmConfig")
    methods = {node.name: node for node in config.body if isinstance(node, ast.FunctionDef)}
    constructor = methods.get("__post_init__")
    checks = tuple(s for s in constructor.body if _is_check(s)) if constructor else ()
    return _followed(tree.name, module, methods, checks, worker, switch, readers)


def _followed(
    source: str,
    module: ast.Module,
    methods: Mapping[str, Function],
    checks: tuple[ast.stmt, ...],
    worker: tuple[ast.stmt, ...],
    switch: ast.expr | None,
    readers: Mapping[str, ast.stmt],
) -> DecidingCode:
    top = _top_level(module)
    wanted_methods: dict[str, Function] = {}
    wanted_names: dict[str, ast.stmt] = {}
    waiting: list[ast.AST] = [*checks, *(m for n, m in methods.items() if n == PROPERTY)]
    wanted_methods |= {n: m for n, m in methods.items() if n == PROPERTY}
    while waiting:
        node = waiting.pop()
        for name in _own_attributes(node):
            if name in methods and name not in wanted_methods and known_field(name) is None:
                wanted_methods[name] = methods[name]
                waiting.append(methods[name])
        for name in _loaded_names(node):
            if name in top and name not in wanted_names and name not in PROVIDED:
                wanted_names[name] = top[name]
                waiting.append(top[name])
    return DecidingCode(source, wanted_methods, wanted_names, checks, worker, switch, readers)


def called_methods(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Attributes that the code calls (`config.is_xpress()`), to tell a method of a config from a field."""
    return frozenset(
        node.func.attr
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    )


def _is_check(statement: ast.stmt) -> bool:
    """Whether a statement of the constructor hands over to the validation of a runner."""
    return isinstance(statement, ast.If) and any(
        isinstance(node, ast.Attribute) and node.attr in VALIDATORS for node in ast.walk(statement)
    )


def _worker_statements(tree: Tree) -> Iterator[ast.stmt]:
    """Where the worker takes its runner from, and what it refuses of it."""
    for definition in tree.parse(WORKER).body:
        if isinstance(definition, ast.ClassDef) and definition.name == "Worker":
            for method in definition.body:
                if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                    yield from (s for s in method.body if _takes_runner(s) or _refuses_runner(s))


def _takes_runner(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and PROPERTY in _own_attributes(statement.targets[0])


def _refuses_runner(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.If)
        and PROPERTY in _own_attributes(statement.test)
        and any(isinstance(node, ast.Raise) for node in ast.walk(statement))
    )


def _switch(tree: Tree) -> tuple[ast.expr | None, dict[str, ast.stmt]]:
    module = tree.parse(ENVS)
    top = _top_level(module)
    table = top.get("environment_variables")
    value = table.value if isinstance(table, (ast.Assign, ast.AnnAssign)) else None
    if not isinstance(value, ast.Dict):
        raise SourceError(f"{tree.name}: {ENVS} has no `environment_variables`")
    for key, entry in zip(value.keys, value.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == SWITCH:
            called = [n for n in _loaded_names(entry) if isinstance(top.get(n), ast.FunctionDef)]
            return entry, {name: top[name] for name in called}
    return None, {}


def _top_level(module: ast.Module) -> dict[str, ast.stmt]:
    """The functions and plain assignments of a module by name."""
    found: dict[str, ast.stmt] = {}
    for statement in module.body:
        if isinstance(statement, ast.FunctionDef):
            found[statement.name] = statement
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            found[statement.targets[0].id] = statement
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            found[statement.target.id] = statement
    return found


def _own_attributes(node: ast.AST) -> list[str]:
    """The names X of `self.X` in a piece of code, in order."""
    return [
        n.attr
        for n in ast.walk(node)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "self"
    ]


def _loaded_names(node: ast.AST) -> list[str]:
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]


def says_only(statement: ast.AST) -> bool:
    """A docstring or a log call."""
    if not isinstance(statement, ast.Expr):
        return False
    value = statement.value
    if isinstance(value, ast.Constant):
        return True
    function = value.func if isinstance(value, ast.Call) else None
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "logger"
    )
