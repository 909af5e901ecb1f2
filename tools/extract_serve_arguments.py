"""Write `policy/facts/serve_arguments.json`: the arguments of `vllm serve`, and the fact that each of them sets.

    python tools/extract_serve_arguments.py --out policy/facts/serve_arguments.json /src

The folders are those of `extract_config_fields.py`. vLLM derives most arguments from the fields of its config
classes; this follows the same derivation over the syntax trees. An argument whose form differs between releases
gets one entry for each form, with the releases that have it (`vllm`, left out where all of them do).

An entry holds the `flags`, the `kind` of value, where it has them `choices`, `nullable` (vLLM reads `None` and
the empty string as no value), `items`, and the `path` of the fact, left out where there is none. The kinds:

    boolean `--x` and `--no-x` | switch `--x` alone | optional-string `--x`, for true, or `--x VALUE`
    integer | human-integer 1k is 1000, 1K is 1024 | human-integer-or-auto `auto` is -1 | number
    string | string-or-none `none` is the empty string | folded-string lower case, with `_` for `-`
    list one or more values, or `count` of them | append one value each time
    json | json-or-string | config a JSON object with the fields of a config class
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from extract_config_fields import config_fields
from packaging.version import Version
from vllm_sources import FIRST_READ, Release, elements, find_releases, literal, name_of

FIRST = Version("0.12.0")  # the first with the arguments all in today's form
# Arguments that become a fact under another name than that of the field that vLLM derives them from, or that
# have no such field. None: no fact.
BY_HAND: dict[str, str | None] = {
    "--data-parallel-address": "parallel_config.data_parallel_master_ip",
    "--data-parallel-backend": "parallel_config.data_parallel_backend",
    "--data-parallel-rank": "parallel_config.data_parallel_rank",
    "--data-parallel-rpc-port": "parallel_config.data_parallel_rpc_port",
    "--data-parallel-size-local": "parallel_config.data_parallel_size_local",
    "--enable-lora": "lora_config",
    "--model": "model",
    "--runner": "model_config.runner_type",
    "--shutdown-timeout": "shutdown_timeout",
}
# Facts that are no fields of a config class.
DERIVED = {"model", "model_config.runner_type"}
PARSED_AS = {
    "float": "number",
    "human_readable_int": "human-integer",
    "human_readable_int_or_auto": "human-integer-or-auto",
    "int": "integer",
    "parse_reasoning_parser": "string-or-none",
    "str": "string",
    "union_dict_and_str": "json-or-string",
}
Argument = dict[str, Any]


class Arguments:
    """The arguments of one release."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self.engine = ast.parse((release.folder / "vllm/engine/arg_utils.py").read_text(encoding="utf-8"))
        self.serve = self.serve_module()
        self.bindings: dict[str, ast.expr] = {}
        self.changes: dict[str, dict[str, ast.expr | None]] = {}
        self.removed: dict[str, list[ast.expr]] = {}
        fields = config_fields(release)
        self.facts = {".".join(path) for path in fields}
        self.places = {"VllmConfig": ""}
        for path, described in sorted(fields.items(), key=lambda entry: len(entry[0])):
            if described.config:
                self.places.setdefault(described.config, ".".join(path) + ".")
        self.human = self.human_readable()
        self.used = self.used_attributes()

    def serve_module(self) -> ast.Module:
        """The module of the API server's own arguments, which has moved from release to release."""
        for path in sorted((self.release.folder / "vllm" / "entrypoints").rglob("cli_args.py")):
            text = path.read_text(encoding="utf-8")
            if "def make_arg_parser" in text:
                self.release.read(path)
                return ast.parse(text)
        raise LookupError(f"{self.release.version}: no module with the arguments of the API server")

    def used_attributes(self) -> set[str]:
        """What `EngineArgs` passes on. An argument that it only compares (to warn) has lost its effect."""
        classes = (node for node in self.engine.body if isinstance(node, ast.ClassDef))
        definition = next(node for node in classes if node.name == "EngineArgs")
        comparisons = (node for node in ast.walk(definition) if isinstance(node, ast.Compare))
        compared = {id(inner) for node in comparisons for inner in ast.walk(node)}
        return {
            node.attr
            for node in ast.walk(definition)
            if isinstance(node, ast.Attribute) and name_of(node.value) == "self" and id(node) not in compared
        }

    def human_readable(self) -> dict[str, str]:
        """The integer fields that take a unit, by name: vLLM lists them where it derives arguments."""
        functions = (node for node in self.engine.body if isinstance(node, ast.FunctionDef))
        derive = next(node for node in functions if node.name == "_compute_kwargs")
        found: dict[str, str] = {}
        for node in ast.walk(derive):
            if isinstance(node, ast.Set | ast.Tuple):
                names = [literal(part) for part in node.elts]
                found |= {
                    name.value: "human-integer" for name in names if name and isinstance(name.value, str)
                }
        for node in ast.walk(derive):
            if (
                isinstance(node, ast.Compare)
                and isinstance(node.ops[0], ast.Eq)
                and name_of(node.left) == "name"
            ):
                given = literal(node.comparators[0])
                found |= {given.value: "human-integer-or-auto"} if given else {}
        return found

    def all(self) -> Iterator[Argument]:
        """Every argument of `vllm serve`, the API server's own first."""
        for node in self.serve.body:
            if isinstance(node, ast.FunctionDef) and node.name == "make_arg_parser":
                yield from self.registered(node)
        yield from self.frontend()
        for class_name in ("EngineArgs", "AsyncEngineArgs"):
            classes = (node for node in self.engine.body if isinstance(node, ast.ClassDef))
            definition = next(node for node in classes if node.name == class_name)
            for node in definition.body:
                if isinstance(node, ast.FunctionDef) and node.name == "add_cli_args":
                    yield from self.registered(node)

    def frontend(self) -> Iterator[Argument]:
        """The arguments that the API server derives from its own class of fields."""
        for node in ast.walk(self.serve):
            if isinstance(node, ast.FunctionDef) and node.name in {"_customize_cli_kwargs", "add_cli_args"}:
                self.note_changes(node)
        for name, statement in self.release.fields("FrontendArgs"):
            argument = self.derived(name, statement.annotation)
            self.apply(argument, self.changes.get(f"frontend_kwargs['{name}']", {}))
            yield {"flags": [f"--{name.replace('_', '-')}"], **argument}

    def note_changes(self, function: ast.FunctionDef) -> None:
        """Take down what a function assigns: names, and what it changes in derived arguments."""
        for node in ast.walk(function):
            target = node.targets[0] if isinstance(node, ast.Assign | ast.Delete) else None
            target = node.target if isinstance(node, ast.AugAssign) else target
            value = node.value if isinstance(node, ast.Assign) else None
            if isinstance(target, ast.Name) and value is not None:
                self.bindings[target.id] = value
            elif isinstance(target, ast.Subscript) and (key := literal(target.slice)):
                self.changes.setdefault(ast.unparse(target.value), {})[key.value] = value
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("['choices'].remove"):
                owner = ast.unparse(node.func).removesuffix("['choices'].remove")
                self.removed.setdefault(owner, []).append(node.args[0])

    def registered(self, function: ast.FunctionDef) -> Iterator[Argument]:
        """The arguments that a function adds to the parser, one call each."""
        self.note_changes(function)
        calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
        for call in calls:
            flags = [given.value for part in call.args if (given := literal(part))]
            if name_of(call.func) != "add_argument" or not flags or not flags[0].startswith("-"):
                continue
            argument: Argument = {"kind": "string"}
            path: str | None = None
            explicit: dict[str, ast.expr | None] = {}
            for keyword in call.keywords:
                if keyword.arg is not None:
                    explicit[keyword.arg] = keyword.value
                    continue
                source = keyword.value
                if isinstance(source, ast.Dict):
                    source = next(
                        value for key, value in zip(source.keys, source.values, strict=True) if not key
                    )
                path, argument = self.from_field(source)
            self.apply(argument, explicit)
            path = BY_HAND.get(flags[0], path)
            used = flags[0].removeprefix("--").replace("-", "_") in self.used
            known = used and path is not None and path in self.facts | DERIVED
            argument["flags"] = sorted(flags, key=lambda flag: not flag.startswith("--"))
            yield argument | ({"path": path} if known else {})

    def from_field(self, source: ast.expr) -> tuple[str | None, Argument]:
        """The fact's path and the argument, for `model_kwargs["seed"]` or a name that stands for such."""
        written = ast.unparse(source)
        changes = self.changes.get(written, {})
        while isinstance(source, ast.Name):
            source = self.bindings[source.id]
            changes = self.changes.get(ast.unparse(source), {}) | changes
        if not isinstance(source, ast.Subscript):
            raise TypeError(f"{self.release.version}: `{written}` is no argument derived from a field")
        owner = source.value if isinstance(source.value, ast.Call) else self.bindings[name_of(source.value)]
        if not isinstance(owner, ast.Call):
            raise TypeError(f"{self.release.version}: `{written}` has no config class")
        class_name, field = name_of(owner.args[0]), ast.literal_eval(source.slice)
        annotation = dict(self.release.fields(class_name, private=True))[field].annotation
        argument = self.derived(field, annotation)
        self.apply(argument, changes)
        for removed in self.removed.get(ast.unparse(source), []):
            value = literal(self.release.names.get(name_of(removed), removed))
            argument["choices"] = [
                choice for choice in argument["choices"] if value and choice != value.value
            ]
        place = self.places.get(class_name)
        return (None if place is None else place + field), argument

    def derived(self, name: str, annotation: ast.expr) -> Argument:
        """The argument for a field, as vLLM derives it from the field's type."""
        members = self.release.members(annotation)
        heads = [
            name_of(part.value) if isinstance(part, ast.Subscript) else name_of(part) for part in members
        ]
        heads = ["dict" if "dict" in self.release.bases(head) else head for head in heads]
        argument: Argument = {"kind": self.kind(name, heads)}
        kinds = ("tuple", "list", "set", "Literal")
        bracketed = {
            head: part for head, part in zip(heads, members, strict=True) if isinstance(part, ast.Subscript)
        }
        if argument["kind"] == "list":
            part = next(bracketed[head] for head in kinds if head in bracketed)
            inner = [member for member in elements(part.slice) if literal(member) is None or name_of(member)]
            fixed = name_of(part.value) == "tuple" and not any(
                isinstance(member, ast.Constant) and member.value is ... for member in elements(part.slice)
            )
            argument |= self.items(inner[0]) | ({"count": len(inner)} if fixed else {})
        elif "Literal" in bracketed and argument["kind"] in {"string", "integer"}:
            choices = self.release.literal_choices(bracketed["Literal"].slice)
            argument["kind"] = "integer" if isinstance(choices[0], int) else "string"
            if "str" not in heads:
                argument["choices"] = sorted(choices)
        if "None" in heads and "bool" not in heads:
            argument["nullable"] = True
        return argument

    def kind(self, name: str, heads: Sequence[str]) -> str:
        """The kind of argument that the alternatives of a field's type make."""
        config = any(self.is_dataclass(head) for head in heads)
        foreign = set(heads) - {"None", "bool", "dict", "float", "int", "list", "set", "str", "tuple"}
        mapping = "json-or-string" if "str" in heads or foreign else "json"
        order = [
            (config, "config"),
            (set(heads) == {"None", "bool", "str"}, "optional-string"),
            ("bool" in heads, "boolean"),
            ("Literal" in heads, "string"),
            (bool({"list", "set", "tuple"} & set(heads)), "list"),
            ("int" in heads, self.human.get(name, "integer")),
            ("float" in heads, "number"),
            ("dict" in heads, mapping),
        ]
        return next((kind for holds, kind in order if holds), "string")

    def is_dataclass(self, name: str) -> bool:
        """Whether a name is one of vLLM's config classes, which arguments give as JSON."""
        definition = self.release.classes.get(name)
        return definition is not None and any(
            name_of(mark.func if isinstance(mark, ast.Call) else mark) in {"config", "dataclass"}
            for mark in definition.decorator_list
        )

    def items(self, member: ast.expr) -> Argument:
        """What each value of a list is."""
        inner = self.release.members(member)
        heads = [name_of(part.value) if isinstance(part, ast.Subscript) else name_of(part) for part in inner]
        if heads == ["Literal"] and isinstance(inner[0], ast.Subscript):
            return {"items": "string", "choices": sorted(self.release.literal_choices(inner[0].slice))}
        kind = {"float": "number", "int": "integer"}.get(heads[0], "string")
        return {"items": kind if len(heads) == 1 else "string"}

    def apply(self, argument: Argument, changes: dict[str, ast.expr | None]) -> None:
        """Lay explicit keywords of `add_argument` over a derived argument."""
        if "nargs" in changes and changes["nargs"] is None:
            argument["kind"] = argument.pop("items", "string")
        if (parsed := changes.get("type")) is not None:
            argument |= self.parsed(argument, parsed)
        match ast.unparse(changes.get("action") or ast.Constant(None)):
            case "'store_true'":
                argument["kind"] = "switch"
            case "argparse.BooleanOptionalAction":
                argument["kind"] = "boolean"
            case "'append'":
                argument["kind"] = "append"
        if "choices" in changes:
            self.choose(argument, changes["choices"])

    def choose(self, argument: Argument, choices: ast.expr | None) -> None:
        """Put the choices that are given for an argument; where they are computed, anything goes here."""
        if isinstance(choices, ast.Call) and name_of(choices.func) == "get_args":
            argument["choices"] = sorted(self.release.literal_choices(choices.args[0]))
        elif given := literal(choices):
            argument["choices"] = sorted(given.value)
        else:
            argument.pop("choices", None)

    def parsed(self, argument: Argument, parser: ast.expr) -> Argument:
        """The kind that `type=` makes of an argument."""
        text = ast.unparse(parser)
        if text.startswith("optional_type("):
            inner = text.removeprefix("optional_type(").removesuffix(")")
            kind = "json" if inner == "json.loads" else argument["kind"]
            return {"kind": kind, "nullable": True}
        argument.pop("nullable", None)
        if text == "json.loads":
            return {"kind": "json"}
        if isinstance(parser, ast.Lambda):
            return {"kind": "folded-string" if "lower()" in text else "string"}
        return {"kind": PARSED_AS[text]} if argument["kind"] != "list" else {}


def runs(holding: Sequence[int], releases: Sequence[Version]) -> Iterator[str | None]:
    """The specifiers of the unbroken runs of releases that have something."""
    start = 0
    for position, index in enumerate(holding):
        if position + 1 < len(holding) and holding[position + 1] == index + 1:
            continue
        first = holding[start]
        bounds = [f">={releases[first]}"] if first else []
        bounds += [f"<{releases[index + 1]}"] if index + 1 < len(releases) else []
        yield ",".join(bounds) or None
        start = position + 1


def whole_numbers(releases: Sequence[Release]) -> dict[str, dict[str, str]]:
    """The names of enum members that arguments may also give by number, by the path of their fact."""
    found: dict[str, dict[str, str]] = {}
    for release in releases:
        for class_name, path in Arguments(release).places.items():
            for name, statement in release.fields(class_name):
                for member in release.members(statement.annotation):
                    for given, value in (release.enum_members(name_of(member)) or {}).items():
                        if isinstance(value, int):
                            found.setdefault(path + name, {})[str(value)] = given
    return found


def default_model(release: Release) -> str:
    """The model that is served where none is named."""
    given = literal(dict(release.fields("ModelConfig"))["model"].value)
    if given is None:
        raise TypeError(f"{release.version}: the default model is computed")
    return str(given.value)


def pairs_enable(release: Release) -> bool:
    """Whether `--disable-x` is another spelling of `--no-enable-x`, and the other way round."""
    parser = release.folder / "vllm" / "utils" / "argparse_utils.py"
    return "class EnableDisableAction" in parser.read_text(encoding="utf-8")


def build(releases: Sequence[Release]) -> dict[str, Any]:
    """The whole table."""
    versions = [release.version for release in releases]
    holding: dict[str, list[int]] = {}
    sources = [Arguments(release) for release in releases]
    facts = set().union(*(source.facts for source in sources if source.release.version >= FIRST_READ))
    for index, source in enumerate(sources):
        for argument in source.all():
            if argument.get("path") not in facts | DERIVED:
                argument.pop("path", None)  # a field that was gone before the facts schema begins
            present = holding.setdefault(json.dumps(argument, sort_keys=True), [])
            if index not in present:
                present.append(index)
    entries = [
        json.loads(form) | ({"vllm": period} if period else {})
        for form, present in holding.items()
        for period in runs(present, versions)
    ]
    entries.sort(key=lambda entry: (entry["flags"], entry.get("vllm", "")))
    return {
        "releases": {"first": str(versions[0]), "last": str(versions[-1])},
        "default_model": default_model(releases[-1]),
        "paired": next(runs([i for i, r in enumerate(releases) if pairs_enable(r)], versions), None),
        "numbered": whole_numbers(releases),
        "arguments": entries,
    }


def main() -> int:
    """Read the releases, write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("releases", nargs="+", metavar="RELEASE=DIR", help="a release, or a folder of them")
    parser.add_argument("--out", type=Path, required=True, help="the table to write")
    options = parser.parse_args()
    releases = find_releases(options.releases, FIRST)
    if not releases:
        print(f"no release from {FIRST} on in {' '.join(options.releases)}", file=sys.stderr)
        return 2
    table = build(releases)
    entries = ",\n".join("  " + json.dumps(entry, sort_keys=True) for entry in table.pop("arguments"))
    head = json.dumps(table, indent=1, sort_keys=True).removesuffix("\n}")
    options.out.write_text(f'{head},\n "arguments": [\n{entries}\n ]\n}}\n', encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
