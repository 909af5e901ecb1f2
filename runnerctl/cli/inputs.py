"""What verbs read from their options: policies, facts files, `--set`, releases."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from policy.document.diagnostic import DocumentError
from policy.document.schema import check
from policy.document.source import Document, Source, parse, plain_scalar, read_source, read_stream
from policy.engine import Catalog
from policy.facts.facts import check_unknown, facts_from_document, nest
from policy.facts.fields import Field, expand, field, suggest
from policy.facts.reading import Reading
from policy.rules.policy_set import PolicySet, load_policies
from policy.secret import HIDDEN, shown_entry
from runnerctl.cli.exits import UsageError

__all__ = ["open_catalog", "read_facts_file", "read_policies", "read_settings"]


def read_policies(paths: Sequence[str], *, no_policy: bool) -> PolicySet:
    """The policies of `--policy`; none with `--no-policy` or without either. Raises `DocumentError`."""
    if no_policy and paths:
        raise UsageError("--no-policy and --policy exclude each other")
    return load_policies(paths)


def read_facts_file(name: str) -> Reading:
    """The facts of `--facts`, YAML or JSON; `-` is standard input. Raises `DocumentError`."""
    source = read_stream("<stdin>", sys.stdin.buffer) if name == "-" else read_source(name)
    return Reading(facts_from_document(parse(source)))


def read_settings(settings: Sequence[str]) -> Reading:
    """The facts of every `--set path=value`. Raises `UsageError` for a wrong name or type."""
    entries: dict[str, Any] = {}
    for setting in settings:
        path, equals, text = setting.partition("=")
        path = path.strip()
        if not equals or not path:
            raise UsageError(f"--set {_said(setting)}: write --set path=value")
        known = field(expand(path))
        if known is None:
            raise UsageError(f"--set {_said(setting)}: unknown fact `{path}`; {suggest(path)}")
        entries[path] = text if _is_text(known, text) else _value(setting, text)
    document = nest(entries)
    try:
        check(Document.unmarked("--set", document), "facts")
        check_unknown(Document.unmarked("--set", document))
    except DocumentError as error:
        raise UsageError(
            "\n".join(f"--set: {d.message}; {d.help}".rstrip("; ") for d in error.diagnostics)
        ) from error
    return Reading(document)


def _said(setting: str) -> str:
    """A setting as a message may say it: what it gives to a variable may be a secret, whatever it is written like."""
    name = re.split(r"[=:\s]", setting.strip(), maxsplit=1)[0]
    if name == "env" and setting != name:
        return f"{name}={HIDDEN}"
    return shown_entry(setting) if "=" in setting else name


def _is_text(known: Field, text: str) -> bool:
    """Whether the text after `=` is the value as it stands: a version or a port is not to become a number."""
    takes = set(known.types) - {"null"}
    return takes == {"string"} and text != "null" and not text.startswith(("[", "{", '"', "'"))


def _value(setting: str, text: str) -> Any:
    """A plain scalar, or a flow list or mapping such as `[LlamaForCausalLM]`."""
    if not text.startswith(("[", "{", '"', "'")):
        return plain_scalar(text)
    try:
        return parse(Source("--set", text)).data
    except DocumentError as error:
        raise UsageError(f"--set {_said(setting)}: {error.diagnostics[0].message}") from error


def open_catalog(name: str | None) -> Catalog:
    """The catalog of `--catalog DIR`, or the shipped one. Raises `UsageError` when DIR holds none."""
    if name is None:
        return Catalog()
    if not (Path(name) / "releases").is_dir():
        raise UsageError(f"--catalog {name}: no folder `releases` in it")
    return Catalog(Path(name))
