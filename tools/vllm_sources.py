"""vLLM's config classes and arguments, read from unpacked sources with `ast`; vLLM is never imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.version import Version

FIRST_READ = Version("0.20.0")
# A field that all of these have needs no `x-vllm`: they are the releases that both runners exist in.
FIRST_ANNOTATED = Version("0.22.0")

# Names that the config modules import, as what a JSON or YAML document can hold for them. Enums of other
# packages are strings here: their members differ from platform to platform.
IMPORTED = {
    "AttentionBackendEnum": "string",
    "Counter": "object",
    "LoadFormats": "string",
    "MLAPrefillBackendEnum": "string",
    "Path": "string",
    "PlacementGroup": "object",
    "PoolingTask": "string",
    "PreTrainedConfig": "object",
    "PretrainedConfig": "object",
    "QuantizationConfig": "object",
    "QuantizationMethods": "string",
    "RuntimeEnv": "object",
    "SupportsHash": "object",
    "TensorizerConfig": "object",
    "device": "string",
    "dtype": "string",
}
BUILTIN = {
    "None": "null",
    "bool": "boolean",
    "dict": "object",
    "float": "number",
    "frozenset": "array",
    "int": "integer",
    "list": "array",
    "set": "array",
    "str": "string",
    "tuple": "array",
}
TYPE_OF = {
    bool: "boolean",
    dict: "object",
    float: "number",
    int: "integer",
    list: "array",
    str: "string",
    type(None): "null",
}
WRAPPERS = {"Annotated", "SkipValidation", "Final"}
EMPTY: dict[str, Any] = {"dict": {}, "list": [], "set": [], "tuple": []}


@dataclass(frozen=True)
class Known:
    """A default that the sources give as a plain value."""

    value: Any


@dataclass
class Field:
    """One field of one release."""

    types: set[str] = field(default_factory=set)
    choices: list[Any] | None = None
    items: Field | None = None
    config: str | None = None
    default: Known | None = None


def name_of(node: ast.expr) -> str:
    """`b` of both `b` and `a.b`; an empty string for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    return "None" if isinstance(node, ast.Constant) and node.value is None else ""


class Release:
    """The config modules of one release, as syntax trees."""

    def __init__(self, version: Version, folder: Path) -> None:
        self.version = version
        self.folder = folder
        self.classes: dict[str, ast.ClassDef] = {}
        self.names: dict[str, ast.expr] = {}
        for path in sorted((folder / "vllm" / "config").glob("*.py")):
            self.read(path)

    def read(self, path: Path) -> None:
        """Take the classes and the module-level names of one file."""
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.ClassDef):
                self.classes[statement.name] = statement
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                self.names[statement.targets[0].id] = statement.value
            elif isinstance(statement, ast.AnnAssign) and statement.value:
                self.names[name_of(statement.target)] = statement.value

    def bases(self, name: str) -> list[str]:
        """The names of all classes above `name`, nearest first."""
        if name not in self.classes:
            return []
        bases = self.classes[name].bases
        direct = [name_of(base.value if isinstance(base, ast.Subscript) else base) for base in bases]
        return direct + [above for base in direct for above in self.bases(base)]

    def members(self, node: ast.expr) -> list[ast.expr]:
        """The alternatives of an annotation: unions, aliases and wrappers taken apart."""
        parts: list[ast.expr] = []
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            parts = [ast.parse(node.value, mode="eval").body]
        elif isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
        elif isinstance(node, ast.Subscript) and name_of(node.value) == "Union":
            parts = elements(node.slice)
        elif isinstance(node, ast.Subscript) and name_of(node.value) == "Optional":
            parts = [node.slice, ast.Constant(None)]
        elif isinstance(node, ast.Subscript) and name_of(node.value) in WRAPPERS:
            parts = elements(node.slice)[:1]
        elif (name := name_of(node)) in self.names and name not in IMPORTED:
            parts = [self.names[name]]
        return [member for part in parts for member in self.members(part)] or [node]

    def enum_members(self, name: str) -> dict[str, Any] | None:
        """Member name to value, for a class that is an enum; enums of strings go by their values."""
        bases = self.bases(name)
        if not any(base.endswith("Enum") for base in bases):
            return None
        by_value = "str" in bases or "StrEnum" in bases
        members: dict[str, Any] = {}
        for statement in self.classes[name].body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                given = literal(statement.value)
                value = given.value if given else None
                members[str(value) if by_value else statement.targets[0].id] = value
        return members

    def config_name(self, node: ast.expr) -> str | None:
        """The config class that an alternative of an annotation names, if it is one of ours to walk into."""
        name = name_of(node)
        if name not in self.classes or self.enum_members(name) is not None or "Protocol" in self.bases(name):
            return None
        return name

    def fields(self, class_name: str, *, private: bool = False) -> Iterator[tuple[str, ast.AnnAssign]]:
        """The attributes that instances of a config class get, inherited ones first; public ones by default."""
        definition = self.classes.get(class_name)
        if definition is None:
            return
        for base in definition.bases:
            yield from self.fields(name_of(base), private=private)
        for statement in definition.body:
            if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
                continue
            outer = statement.annotation.value if isinstance(statement.annotation, ast.Subscript) else None
            unstored = outer is not None and name_of(outer) in {"ClassVar", "InitVar"}
            if not unstored and (private or not statement.target.id.startswith("_")):
                yield statement.target.id, statement

    def describe(self, annotation: ast.expr) -> Field:
        """What a JSON document may hold for an annotation."""
        described = Field()
        open_ended = False
        choices: list[Any] = []
        configs: list[str] = []
        for member in self.members(annotation):
            head = name_of(member.value) if isinstance(member, ast.Subscript) else name_of(member)
            if isinstance(member, ast.Subscript) and head == "Literal":
                choices += self.literal_choices(member.slice)
            elif (enum := self.enum_members(head)) is not None:
                choices += list(enum)
            elif config := self.config_name(member):
                configs.append(config)
                described.types.add("object")
            elif (kind := BUILTIN.get(head) or IMPORTED.get(head)) is not None:
                described.types.add(kind)
                open_ended = open_ended or kind not in {"null", "boolean"}
                if kind == "array" and isinstance(member, ast.Subscript):
                    described.items = self.describe(elements(member.slice)[0])
        described.types |= {TYPE_OF[type(choice)] for choice in choices}
        if choices and not open_ended:
            described.choices = choices
        if len(configs) == 1 and described.types <= {"object", "null"} and not open_ended:
            described.config = configs[0]
        return described

    def literal_choices(self, node: ast.expr) -> list[Any]:
        """The values that `Literal[...]` lists; a listed name stands for another `Literal`."""
        choices: list[Any] = []
        for part in elements(node):
            if given := literal(part):
                choices.append(given.value)
            else:
                inner = (member for member in self.members(part) if isinstance(member, ast.Subscript))
                choices += [choice for member in inner for choice in self.literal_choices(member.slice)]
        return choices

    def default(self, class_name: str, node: ast.expr | None) -> Known | None:
        """The default that a field's right-hand side gives, where it is a plain value."""
        if isinstance(node, ast.Call) and name_of(node.func) in {"Field", "field"}:
            keywords = {keyword.arg: keyword.value for keyword in node.keywords}
            factory = keywords.get("default_factory")
            if factory is None:
                return self.default(class_name, keywords.get("default", node.args[0] if node.args else None))
            if isinstance(factory, ast.Lambda):
                return literal(factory.body)
            return Known(EMPTY[name_of(factory)]) if name_of(factory) in EMPTY else None
        if isinstance(node, ast.Attribute):
            enum = self.enum_members(name_of(node.value)) or {}
            return Known(node.attr) if node.attr in enum else None
        return literal(self.class_constant(class_name, node.id) if isinstance(node, ast.Name) else node)

    def class_constant(self, class_name: str, name: str) -> ast.expr | None:
        """The value that a config class, or its module, gives a name."""
        for statement in self.classes[class_name].body:
            if isinstance(statement, ast.AnnAssign) and name_of(statement.target) == name:
                return statement.value
        return self.names.get(name)


def elements(node: ast.expr) -> list[ast.expr]:
    """The items between the brackets of a subscript."""
    return node.elts if isinstance(node, ast.Tuple) else [node]


def literal(node: ast.expr | None) -> Known | None:
    """A plain value in JSON's types, or nothing where the expression computes something."""
    try:
        value = ast.literal_eval(node) if node is not None else ...
    except (ValueError, TypeError):
        return None
    if isinstance(value, (tuple, set, frozenset)):
        value = sorted(value) if isinstance(value, (set, frozenset)) else list(value)
    return Known(value) if type(value) in TYPE_OF else None


def left_to_compute(release: Release) -> set[str]:
    """Fields that `EngineArgs` leaves None, to be computed, whatever default the config class has."""
    tree = ast.parse((release.folder / "vllm" / "engine" / "arg_utils.py").read_text(encoding="utf-8"))
    classes = (node for node in tree.body if isinstance(node, ast.ClassDef))
    engine_args = next(node for node in classes if node.name == "EngineArgs")
    return {
        name_of(statement.target)
        for statement in engine_args.body
        if isinstance(statement, ast.AnnAssign) and literal(statement.value) == Known(None)
    }


def assigned(release: Release, class_name: str) -> set[tuple[str, ...]]:
    """The paths that the methods of a config class assign: `("a", "b")` for `self.a.b = ...`."""
    found: set[tuple[str, ...]] = set()
    methods = (node for node in release.classes[class_name].body if isinstance(node, ast.FunctionDef))
    for node in (node for method in methods for node in ast.walk(method)):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign | ast.AugAssign):
            targets = [node.target]
        for target in targets:
            parts = ast.unparse(target).split(".")
            if parts[0] == "self":
                found.add(tuple(parts[1:]))
    return found


def lifetime(holding: Sequence[Version], releases: Sequence[Version]) -> str | None:
    """The specifier for a field, from the first to the last release that has it."""
    first, last = releases.index(min(holding)), releases.index(max(holding))
    bounds = []
    if first > 0:
        bounds.append(f">={releases[first]}")
    if last + 1 < len(releases):
        bounds.append(f"<{releases[last + 1]}")
    missing = [release for release in releases if release >= FIRST_ANNOTATED and release not in holding]
    return ",".join(bounds) if missing and bounds else None


def find_releases(arguments: Sequence[str], first: Version = FIRST_READ) -> list[Release]:
    """The releases that the command line names, oldest first."""
    folders: dict[Version, Path] = {}
    for argument in arguments:
        version, separator, folder = argument.rpartition("=")
        if separator:
            folders[Version(version)] = Path(folder)
        elif (Path(argument) / "vllm" / "config").is_dir():
            folders[Version(Path(argument).name)] = Path(argument)
        else:
            inside = (path for path in Path(argument).iterdir() if (path / "vllm" / "config").is_dir())
            folders |= {Version(path.name): path for path in inside}
    return [Release(version, folders[version]) for version in sorted(folders) if version >= first]
