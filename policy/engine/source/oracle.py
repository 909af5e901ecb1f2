"""vLLM's own deciding functions, run on facts: the answer that the catalog has to give.

The functions are taken from a wheel or source tree when they are asked, run with stand-ins for the configs, and kept
nowhere. vLLM is not imported. Only code that decides runs, with few builtins; that is no sandbox, so ask only
sources that you would also serve from.
"""

from __future__ import annotations

import ast
import builtins
import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from policy.engine.release import Runner
from policy.engine.source.deciding import PROPERTY, PROVIDED, DecidingCode, called_methods, says_only
from policy.engine.source.stand_ins import EnumNames, Platform, Reader, SilentLogger, StandIn
from policy.engine.source.tree import SourceError
from policy.facts.facts import ABSENT, Facts
from policy.facts.fields import SWITCH

__all__ = ["INVALID_SWITCH", "Answer", "Oracle"]

INVALID_SWITCH = "invalid env"
# Platforms whose worker is vLLM's own; the others bring theirs.
IN_TREE = frozenset({"cuda", "rocm", "xpu", "cpu"})
ENUMS = ("CompilationMode", "CUDAGraphMode")
BUILTINS = (
    "AssertionError",
    "AttributeError",
    "RuntimeError",
    "TypeError",
    "ValueError",
    "all",
    "any",
    "bool",
    "dict",
    "enumerate",
    "frozenset",
    "getattr",
    "hasattr",
    "int",
    "isinstance",
    "len",
    "list",
    "max",
    "min",
    "property",
    "range",
    "set",
    "sorted",
    "staticmethod",
    "str",
    "sum",
    "tuple",
    "zip",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What vLLM itself does: a runner, or None and the refusal. `features` are empty where it names none."""

    runner: Runner | None
    features: tuple[str, ...] = ()
    message: str = ""


class Oracle:
    """The deciding code of one source, ready to be asked. Raises `SourceError` when it needs what nobody provides.

    `asked` are the facts that the code has read so far, `unknown_fields` those that the facts schema lacks.
    """

    def __init__(self, code: DecidingCode) -> None:
        self.asked: set[str] = set()
        self.unknown_fields: set[str] = set()
        self._source = code.source
        self._methods = called_methods(code.nodes())
        self._envs = SimpleNamespace()
        self._getenv: Mapping[str, str] = {}
        self._plugins: tuple[str, ...] = ()
        self._names: dict[str, Any] = {
            "__builtins__": {
                **{name: getattr(builtins, name) for name in BUILTINS},
                "__import__": self._import,
                "__build_class__": builtins.__build_class__,
            },
            "__name__": "deciding_code",
            "envs": self._envs,
            "logger": SilentLogger(),
            "StandIn": StandIn,
            "os": SimpleNamespace(getenv=lambda name, default=None: self._getenv.get(name, default)),
            "entry_points": self._entry_points,
            **{name: EnumNames() for name in ENUMS},
        }
        self._has_property = PROPERTY in code.methods
        self._has_switch = code.switch is not None
        self._has_worker = bool(code.worker)
        self._check_names(code)
        self._define(code)

    def _check_names(self, code: DecidingCode) -> None:
        provided = {*self._names, *PROVIDED, *BUILTINS, *code.module, "self"}
        for root in (*code.methods.values(), *code.module.values(), *code.checks):
            bound = {n.id for n in ast.walk(root) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            bound |= {
                a.asname or a.name for n in ast.walk(root) if isinstance(n, ast.ImportFrom) for a in n.names
            }
            bound |= {n.arg for n in ast.walk(root) if isinstance(n, ast.arg)}
            for node in ast.walk(_without_types(root)):
                if (
                    isinstance(node, ast.Name)
                    and isinstance(node.ctx, ast.Load)
                    and node.id not in provided | bound | {"lru_cache", "cache", "cached_property"}
                ):
                    raise SourceError(
                        f"{self._source}: the code that decides uses `{node.id}`, which facts cannot stand in for"
                    )

    def _define(self, code: DecidingCode) -> None:
        checks = _function("run_checks", "self", [*code.checks] or [ast.Pass()])
        takes = [_function("take_runner", "self, vllm_config", [*code.worker] or [ast.Pass()])]
        config = ast.parse("class VllmConfig(StandIn): pass").body[0]
        assert isinstance(config, ast.ClassDef)  # noqa: S101
        config.body = [*code.methods.values(), checks]
        body: list[ast.stmt] = [*code.readers.values(), *_in_order(code.module), config, *takes]
        if code.switch is not None:
            body.append(ast.Assign([ast.Name("read_switch", ast.Store())], code.switch))
        module = ast.Module([_without_types(statement) for statement in body], [])
        try:
            exec(compile(ast.fix_missing_locations(module), self._source, "exec"), self._names)  # noqa: S102
        except Exception as error:
            raise SourceError(
                f"{self._source}: the code that decides cannot be run by itself: {error}"
            ) from error

    def ask(self, facts: Facts) -> Answer:
        """Run vLLM's functions on `facts`. Raises `SourceError` when they ask what the facts do not say."""
        raw = facts.value(f"env.{SWITCH}")
        self._getenv = {} if raw is ABSENT else {SWITCH: raw}
        platform = facts.value("platform")
        self._names["HAS_TRITON"] = facts.value("has_triton")
        self._names["current_platform"] = Platform(platform)
        self._plugins = ("plugin",) if facts.value("logits_processor_plugins") is True else ()
        try:
            setattr(self._envs, SWITCH, self._names["read_switch"]() if self._has_switch else False)
        except ValueError:
            return Answer(None, message=INVALID_SWITCH)
        config = self._names["VllmConfig"](Reader(facts, self._methods, self.asked, self.unknown_fields))
        try:
            return self._run(config, platform)
        except ValueError as refusal:
            if isinstance(refusal, SourceError):
                raise
            return Answer(None, _features(str(refusal)), str(refusal))
        except (AttributeError, NameError, TypeError, KeyError) as error:
            raise SourceError(f"{self._source}: the code that decides cannot be asked: {error}") from error

    def _run(self, config: Any, platform: str) -> Answer:
        runner = bool(config.use_v2_model_runner if self._has_property else getattr(self._envs, SWITCH))
        config.run_checks()
        if self._has_worker and platform in IN_TREE:
            worker = SimpleNamespace()
            self._names["take_runner"](worker, config)
            runner = bool(getattr(worker, PROPERTY, runner))
        return Answer("v2" if runner else "v1")

    def _import(
        self, name: str, _globals: Any = None, _locals: Any = None, _from: Any = (), _level: int = 0
    ) -> Any:
        if name == "importlib.metadata":
            return SimpleNamespace(entry_points=self._entry_points)
        if name in ("vllm.platforms", "vllm.triton_utils"):
            return SimpleNamespace(**{n: self._names[n] for n in ("current_platform", "HAS_TRITON")})
        raise SourceError(
            f"{self._source}: the code that decides imports `{name}`, which nothing stands in for"
        )

    def _entry_points(self, group: str = "") -> tuple[str, ...]:
        return self._plugins if group == "vllm.logits_processors" else ()


def _features(message: str) -> tuple[str, ...]:
    found = re.search(r"does not (?:yet )?support: (.+)", message, re.DOTALL)
    return tuple(found[1].split(", ")) if found else ()


def _function(name: str, arguments: str, body: list[ast.stmt]) -> ast.FunctionDef:
    shell = ast.parse(f"def {name}({arguments}): pass").body[0]
    assert isinstance(shell, ast.FunctionDef)  # noqa: S101
    shell.body = body
    return shell


def _in_order(module: Mapping[str, ast.stmt]) -> list[ast.stmt]:
    """Constants before what uses them: as they stand in the file."""
    return sorted(module.values(), key=lambda statement: statement.lineno)


class _Plain(ast.NodeTransformer):
    """Without annotations, which name types that are not there, caches, which outlive a question, and log calls."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return ast.Pass() if says_only(node) else self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns = None
        kept: list[ast.expr] = [
            d for d in node.decorator_list if isinstance(d, ast.Name) and d.id in ("property", "staticmethod")
        ]
        if any("cached_property" in ast.unparse(d) for d in node.decorator_list):
            kept.append(ast.Name("property", ast.Load()))
        node.decorator_list = kept
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        self.generic_visit(node)
        if node.value is None:
            return ast.Pass()
        return ast.copy_location(ast.Assign([node.target], node.value), node)


def _without_types(statement: ast.AST) -> Any:
    return _Plain().visit(copy.deepcopy(statement))
