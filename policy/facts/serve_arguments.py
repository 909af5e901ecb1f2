"""Facts from a `vllm serve` command line, read as vLLM's own parser reads it, without vLLM.

`serve_arguments.json` says which arguments each release has and which fact each of them sets;
`tools/extract_serve_arguments.py` makes it from vLLM's sources. The rewriting that comes before the parsing
proper (a configuration file, dotted keys, `-O3`) has its surprises, which are kept: a dotted key replaces the
JSON of the same argument, and `--config=FILE`, with the equals sign, reads no file.
"""

from __future__ import annotations

import argparse
import difflib
import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from policy.facts.reading import Reading
from policy.facts.serve_settings import settle
from policy.facts.serve_values import Convert, ServeArgumentError, human_integer

__all__ = ["ServeArgumentError", "read_serve_arguments"]

_LEVELS = {"0", "1", "2", "3"}


def read_serve_arguments(arguments: Sequence[str], release: str, read_file: Callable[[str], str]) -> Reading:
    """The facts that the arguments of `vllm serve`, or of the API server's module, set in a release.

    `read_file` gives the text of the file of a `--config` argument. Raises `ServeArgumentError` for what that
    release's own parser would refuse.
    """
    table = _table()
    version = _known_release(release, table)
    model, rest = _split_model(arguments)
    if "--config" in rest:
        rest = _with_file(rest, model, read_file)
    parser = _parser(version)
    values, extra = parser.parse_known_args(_gather_dotted(_plain_names(rest)))
    given = {name: value for name, value in vars(values).items() if name != "--config"}
    named = given.pop("--model", None)
    models = [*([model] if model is not None else []), *_only_positionals(extra, parser, version)]
    if len(models) > 1:
        raise ServeArgumentError(f"there is an argument too many: `{models[1]}`")
    model = models[0] if models else named
    return settle(given, parser.paths, version, str(model or table["default_model"]), table["numbered"])


@functools.cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    return table


def _known_release(release: str, table: Mapping[str, Any]) -> Version:
    """The release, or the nearest one that the table holds: a nightly has its predecessor's arguments."""
    try:
        version = Version(release)
    except InvalidVersion:
        raise ServeArgumentError(f"`{release}` is not a release") from None
    known = table["releases"]
    return min(max(Version(version.base_version), Version(known["first"])), Version(known["last"]))


def _holds(specifier: str | None, version: Version) -> bool:
    return specifier is None or SpecifierSet(specifier).contains(version, prereleases=True)


# --- what vLLM does to the arguments before it parses them ---------------------------------------------------


def _split_model(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """The model that stands first or is given by `--model`, and the arguments without it."""
    rest = list(arguments)
    for index, argument in enumerate(rest):
        if argument == "--model":
            if index + 1 == len(rest):
                raise ServeArgumentError("`--model` needs a value")
            return rest[index + 1], rest[:index] + rest[index + 2 :]
        if argument.startswith("--model=") and argument != "--model=":
            return argument.removeprefix("--model="), rest[:index] + rest[index + 1 :]
    if rest and not rest[0].startswith("-"):
        return rest[0], rest[1:]
    served = any(re.match(r"--served[-_]model[-_]name(=.+|$)", argument) for argument in rest)
    configured = any(re.match(r"--config(=.+|$)", argument) for argument in rest)
    if served and not configured:
        raise ServeArgumentError("`--served-model-name` needs the model as the first argument")
    return None, rest


def _with_file(arguments: list[str], model: str | None, read_file: Callable[[str], str]) -> list[str]:
    """The arguments with those of the configuration file in front, where later ones win over them."""
    if arguments.count("--config") > 1:
        raise ServeArgumentError("`--config` is given more than once")
    index = arguments.index("--config")
    if index + 1 == len(arguments):
        raise ServeArgumentError("`--config` needs a value")
    configured = _file_arguments(arguments[index + 1], read_file)
    if model is None and "--model" not in configured:
        raise ServeArgumentError("no model, neither as the first argument nor in the `--config` file")
    return configured + arguments[:index] + arguments[index + 2 :]


def _file_arguments(path: str, read_file: Callable[[str], str]) -> list[str]:
    """The arguments that a configuration file stands for; `false` stands for none, as in `vllm serve`."""
    import yaml  # noqa: PLC0415  (the guard reads arguments too, and seldom a file)

    if path.rpartition(".")[2] not in {"yaml", "yml"}:
        raise ServeArgumentError(f"the `--config` file `{path}` must end in .yaml or .yml")
    try:
        content = yaml.safe_load(read_file(path))
    except OSError as error:
        raise ServeArgumentError(f"cannot read `{path}`: {error.strerror or error}") from error
    except yaml.YAMLError as error:
        raise ServeArgumentError(f"`{path}` is not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise ServeArgumentError(f"`{path}` is not a mapping of argument names to values")
    arguments: list[str] = []
    for name, value in content.items():
        match value:
            case bool():
                arguments += [f"--{name}"] if value else []
            case list():
                arguments += [f"--{name}", *map(str, value)] if value else []
            case dict():
                arguments += [f"--{name}", json.dumps(value)]
            case _:
                arguments += [f"--{name}", str(value)]
    return arguments


def _plain_names(arguments: Sequence[str]) -> list[str]:
    """Dashes for underscores in the names of arguments, and `--optimization-level` for `-O`."""
    plain: list[str] = []
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=False):
        if argument.startswith("--"):
            name, equals, value = argument.partition("=")
            head, dot, keys = name.partition(".")
            plain.append(head.replace("_", "-") + dot + keys + equals + value)
        elif argument.startswith("-O") and argument != "-O":
            plain += ["--optimization-level", argument[2:].removeprefix("=")]
        elif argument == "-O" and following in _LEVELS:
            plain.append("--optimization-level")
        else:
            plain.append(argument)
    return plain


def _gather_dotted(arguments: Sequence[str]) -> list[str]:
    """`--name.key value` as `--name '{"key": value}'`, all keys of one name together, after all the others."""
    kept: list[str] = []
    objects: dict[str, dict[str, Any]] = {}
    remaining = iter(arguments)
    for argument in remaining:
        written, equals, value = argument.partition("=")
        if not argument.startswith("-") or "." not in written:
            kept.append(argument)
            continue
        if not equals:
            following = next(remaining, None)
            if following is None:
                raise ServeArgumentError(f"`{written}` needs a value")
            value = following
        name, *keys = written.removesuffix("+").split(".")
        merged: Any = value.split(",") if written.endswith("+") else _json_or_text(value)
        for key in reversed(keys):
            merged = {key: merged}
        _merge(objects.setdefault(name, {}), merged)
    for name, merged in objects.items():
        kept += [name, json.dumps(merged)]
    return kept


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        pass
    try:
        return human_integer(value)
    except ValueError:
        return value


def _merge(into: dict[str, Any], update: Mapping[str, Any]) -> None:
    for key, value in update.items():
        present = into.get(key)
        if isinstance(value, dict) and isinstance(present, dict):
            _merge(present, value)
        elif isinstance(value, list) and isinstance(present, list):
            present += value
        else:
            into[key] = value


# --- the parser ----------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """`argparse` with vLLM's arguments, whose refusals are errors of ours."""

    def __init__(self) -> None:
        super().__init__(add_help=False, argument_default=argparse.SUPPRESS, prefix_chars="-")
        self.paths: dict[str, str] = {}

    def error(self, message: str) -> NoReturn:
        argument, _, said = message.removeprefix("argument ").partition(": ")
        if message.startswith("ambiguous option"):
            option, _, matches = said.partition(" could match ")
            names = " or ".join(f"`{match}`" for match in matches.split(", "))
            raise ServeArgumentError(f"`{option}` could be {names}")
        flag = argument.split("/")[0]
        if said.startswith("expected"):
            said = "needs a value" if "one" in said else "needs more values"
        elif said.startswith("ignored explicit argument"):
            said = "takes no value"
        raise ServeArgumentError(f"`{flag}` {said}")


class _Boolean(argparse.BooleanOptionalAction):
    """`--x` and `--no-x`; in releases that pair them, also `--disable-x` for `--no-enable-x`."""

    def __init__(self, option_strings: Sequence[str], dest: str, paired: bool = False, **rest: Any) -> None:
        super().__init__(option_strings, dest, **rest)
        opposite = {"--enable-": "--disable-", "--disable-": "--enable-"}
        inverses = [
            opposite[prefix] + option.removeprefix(prefix)
            for option in (option_strings if paired else ())
            for prefix in opposite
            if option.startswith(prefix)
        ]
        self.negative = {*self.option_strings, *inverses} - set(option_strings)
        self.option_strings = [*self.option_strings, *inverses]

    def __call__(self, *given: Any, **_: Any) -> None:
        _parser, namespace, _values, option = given
        setattr(namespace, self.dest, option not in self.negative)


@functools.lru_cache(maxsize=4)
def _parser(version: Version) -> _Parser:
    """The parser of one release."""
    table = _table()
    parser = _Parser()
    paired = table["paired"] is not None and _holds(table["paired"], version)
    for entry in table["arguments"]:
        if not _holds(entry.get("vllm"), version):
            continue
        name = entry["flags"][0]
        parser.add_argument(*entry["flags"], dest=name, **_form(entry, paired))
        if "path" in entry:
            parser.paths[name] = entry["path"]
    return parser


def _form(entry: Mapping[str, Any], paired: bool) -> dict[str, Any]:
    """What `add_argument` needs to know of an argument besides its names."""
    convert = Convert(entry)
    match entry["kind"]:
        case "boolean":
            return {"action": _Boolean, "paired": paired}
        case "switch":
            return {"action": "store_true"}
        case "append":
            return {"action": "append", "type": convert}
        case "optional-string":
            return {"nargs": "?", "const": True, "type": convert}
        case "list":
            return {"nargs": entry.get("count", "+"), "type": convert}
    return {"type": convert}


def _only_positionals(extra: Sequence[str], parser: _Parser, version: Version) -> Iterable[str]:
    """What the parser left over, where none of it looks like an argument that the release does not have."""
    for argument in extra:
        if argument.startswith("-") and argument != "--":
            flag = argument.partition("=")[0]
            near = difflib.get_close_matches(flag, parser._option_string_actions, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise ServeArgumentError(f"vLLM {version} has no argument `{flag}`{hint}")
    return [argument for argument in extra if argument != "--"]
