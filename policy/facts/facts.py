"""Facts of one deployment: vLLM's defaults for what is left out, a third value for what is unknown."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, cast

from policy.document.diagnostic import Diagnostic, DocumentError, Location
from policy.document.schema import check
from policy.document.source import Document, merge_mappings
from policy.facts.fields import NO_DEFAULT, OPEN_MAPPINGS, SHORT_NAMES, expand, field, suggest
from policy.facts.reading import Reading
from policy.secret import shown_entry

__all__ = [
    "ABSENT",
    "UNKNOWN",
    "Facts",
    "canonical_name",
    "check_unknown",
    "derived_inputs",
    "facts_from_document",
    "holder_of",
    "merge_facts",
    "nest",
    "steps_to",
]


T = TypeVar("T")


class _Absent:
    """No value: the config object is off, the variable is not set, the package is not installed."""

    def __repr__(self) -> str:
        return "ABSENT"


class _Unknown:
    """There may be a value, but nobody has said which."""

    def __repr__(self) -> str:
        return "UNKNOWN"


ABSENT = _Absent()
UNKNOWN = _Unknown()


class Facts:
    """A read-only view of a facts document.

    `value(path)` gives the value at a full dotted path, vLLM's default where it is left out, `ABSENT` where
    its config object is off, or `UNKNOWN`.
    """

    __slots__ = ("_cache", "_document", "_given_unknown", "_implied", "_read")

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._given_unknown: frozenset[str] = frozenset(expand(p) for p in document.get("unknown", ()))
        # Whoever says that a field is unknown says that its object is on.
        self._implied = frozenset(
            path[:i] for path in self._given_unknown for i, letter in enumerate(path) if letter == "."
        )
        self._cache: dict[str, Any] = {}
        self._read: dict[Any, Any] = {}

    def once(self, reader: Callable[[Facts], T]) -> T:
        """What `reader` makes of these facts, worked out once."""
        found = self._read.get(reader)
        if found is None:
            found = self._read[reader] = reader(self)
        return cast("T", found)

    @property
    def env(self) -> dict[str, str]:
        """The environment variables that are set."""
        return {name: value for name, value in (self._document.get("env") or {}).items() if value is not None}

    @property
    def document(self) -> Mapping[str, Any]:
        return self._document

    def value(self, path: str) -> Any:
        found = self._cache.get(path, NO_DEFAULT)
        if found is NO_DEFAULT:
            found = self._walk(path)
            if found is UNKNOWN and path in _DERIVED and path not in self._given_unknown:
                found = _DERIVED[path][0](self)
            self._cache[path] = found
        return found

    def with_derived(self, values: Mapping[str, Any]) -> Facts:
        """The same facts with values at paths that no document has (what a resolver works out on the way)."""
        result = Facts(self._document)
        result._cache.update(self._cache)
        result._cache.update(values)
        result._read = self._read
        return result

    def unknown_inputs(self, path: str) -> tuple[str, ...]:
        """The facts that somebody would have to give for an unknown `path`: itself, or what it derives from."""
        if path in _DERIVED and path not in self._given_unknown:
            return tuple(p for p in _DERIVED[path][1] if self.value(p) is UNKNOWN)
        steps = path.split(".")
        for end in range(1, len(steps)):
            above = ".".join(steps[:end])
            if above not in OPEN_MAPPINGS and self.value(above) is UNKNOWN:
                return (above,)
        return (path,)

    def _walk(self, path: str) -> Any:
        node: Any = self._document
        open_above = False
        for step, at, default in _way(path):
            if default is _IS_ENTRY:
                return self._entry(at, step, path)
            open_above = open_above or at in self._given_unknown
            if isinstance(node, dict) and step in node:
                node = node[step]
            elif at in self._implied and not open_above:
                node = {}
            elif open_above or default is NO_DEFAULT:
                return UNKNOWN
            else:
                node = default
            if node is None:
                return ABSENT
        return node

    def _entry(self, mapping: str, name: str, path: str) -> Any:
        entries = self._document.get(mapping) or {}
        if name in entries:
            return ABSENT if entries[name] is None else entries[name]
        if mapping == "packages":
            wanted = canonical_name(name)
            for given, version in entries.items():
                if canonical_name(given) == wanted:
                    return version
        hidden = {mapping, path}
        if mapping == "packages":
            hidden.update(p for p in self._given_unknown if canonical_name(p) == canonical_name(path))
        return UNKNOWN if hidden & self._given_unknown else ABSENT

    def replace(self, path: str, value: Any) -> Facts:
        """The same facts with another value at `path`; None takes the value away (off, not set)."""
        document = dict(self._document)
        document["unknown"] = [p for p in document.get("unknown", ()) if expand(p) != path]
        steps = steps_to(path)
        node = document
        for step in steps[:-1]:
            node[step] = dict(node.get(step) or {})
            node = node[step]
        node[steps[-1]] = value
        return Facts(document)

    def open_object(self, path: str) -> Facts:
        """The same facts with the unknown config object at `path` on, and everything in it still unknown."""
        opened = self.replace(path, {}).document
        return Facts({**opened, "unknown": [*opened["unknown"], path]})


# Marks the way to `env.NAME` and its like: one step, whatever dots the name has.
_IS_ENTRY = object()


@functools.cache
def _way(path: str) -> tuple[tuple[str, str, Any], ...]:
    """The steps to a fact: (name, path so far, default there). Asked for a thousand times for each deployment."""
    head, _, rest = path.partition(".")
    if head in OPEN_MAPPINGS and rest:
        return ((rest, head, _IS_ENTRY),)
    steps = path.split(".")
    paths = [".".join(steps[: i + 1]) for i in range(len(steps))]
    return tuple((step, at, _default(at)) for step, at in zip(steps, paths, strict=True))


def _default(path: str) -> Any:
    known = field(path)
    return None if known is None else known.default


def canonical_name(name: str) -> str:
    """A distribution name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _first_architecture(facts: Facts) -> Any:
    found = facts.value("model_config.architectures")
    if found is UNKNOWN or found is ABSENT:
        return found
    return found[0] if found else ABSENT


def _use_ubatching(facts: Facts) -> Any:
    # ParallelConfig.use_ubatching since vLLM 0.14: dual batch overlap, or more than one micro-batch.
    dbo, size = facts.value("parallel_config.enable_dbo"), facts.value("parallel_config.ubatch_size")
    if dbo is True or (isinstance(size, int) and size > 1):
        return True
    return UNKNOWN if UNKNOWN in (dbo, size) else False


def _uses_dynamic_speculative_decoding(facts: Facts) -> Any:
    sizes = facts.value("speculative_config.num_speculative_tokens_per_batch_size")
    return sizes if sizes is UNKNOWN else sizes is not ABSENT


# Properties that vLLM derives from other fields, where the document does not give them itself.
_DERIVED: dict[str, tuple[Callable[[Facts], Any], tuple[str, ...]]] = {
    "model_config.architecture": (_first_architecture, ("model_config.architectures",)),
    "parallel_config.use_ubatching": (
        _use_ubatching,
        ("parallel_config.enable_dbo", "parallel_config.ubatch_size"),
    ),
    "speculative_config.uses_dynamic_speculative_decoding": (
        _uses_dynamic_speculative_decoding,
        ("speculative_config.num_speculative_tokens_per_batch_size",),
    ),
}


def derived_inputs(path: str) -> tuple[str, ...]:
    """The facts from which the one at `path` derives where the document does not give it itself."""
    return _DERIVED[path][1] if path in _DERIVED else ()


def nest(entries: Mapping[str, Any]) -> dict[str, Any]:
    """A nested facts document from entries whose keys may be dotted paths or short names."""
    document: dict[str, Any] = {}
    for key, value in entries.items():
        node, last = holder_of(document, expand(key))
        if isinstance(value, Mapping) and isinstance(node.get(last), dict):
            node[last] = merge_mappings(node[last], value)
        else:
            node[last] = copy.deepcopy(value) if isinstance(value, (dict, list)) else value
    return document


def holder_of(document: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    """The mapping that holds the fact at a full path, and its name there. What is missing on the way is made."""
    *above, last = steps_to(path)
    node = document
    for step in above:
        below = node.get(step)
        if not isinstance(below, dict):
            below = node[step] = {}
        node = below
    return node, last


def merge_facts(readings: Iterable[Reading]) -> tuple[dict[str, Any], dict[str, str]]:
    """One document from several sources, later ones over earlier ones, and why each unknown is unknown.

    A fact that any source gives is known, whoever else could not read it.
    """
    document: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for reading in readings:
        document = merge_mappings(document, reading.facts)
        reasons.update(reading.unknown)
    reasons = {path: why for path, why in reasons.items() if not _given(document, path)}
    if reasons:
        document["unknown"] = sorted({*document.get("unknown", ()), *reasons})
    return document, reasons


def _given(document: Mapping[str, Any], path: str) -> bool:
    node: Any = document
    for step in path.split("."):
        if not isinstance(node, Mapping) or step not in node:
            return False
        node = node[step]
    return True


def facts_from_document(document: Document) -> dict[str, Any]:
    """The nested facts of a facts file. Raises `DocumentError` for unknown names, wrong types and contradictions."""
    if isinstance(document.data, Mapping) and _has_short_keys(document.data):
        document = _nested(document)
    try:
        check(document, "facts")
    except DocumentError as error:
        other = [d for d in error.diagnostics if d.code != "unknown-field"]
        raise DocumentError([*_unknown_names(document), *other]) from error
    check_unknown(document)
    return dict(document.data)


def _has_short_keys(data: Mapping[str, Any]) -> bool:
    # Of every line of a batch: joined, the keys are looked through at once.
    return "." in "".join(data) or not SHORT_NAMES.keys().isdisjoint(data)


def _unknown_names(document: Document) -> Iterator[Diagnostic]:
    """Every name that is no fact, with the nearest right paths: the schema alone knows only a field's neighbours."""

    def walk(data: Any, steps: list[str]) -> Iterator[Diagnostic]:
        for name, value in data.items() if isinstance(data, Mapping) else ():
            here = [*steps, name]
            if field(".".join(here)) is None:
                yield _unknown_fact(document.locate(here, key=True), ".".join(here))
            elif here[0] not in OPEN_MAPPINGS:
                yield from walk(value, here)

    yield from walk(document.data, [])


def _unknown_fact(location: Location, path: str) -> Diagnostic:
    return Diagnostic(location, "unknown-fact", f"unknown fact `{shown_entry(path)}`", suggest(path))


def check_unknown(document: Document) -> None:
    """Raise `DocumentError` where `unknown` lists what is no fact: a typing error there would turn into a guess."""
    findings = [
        _unknown_fact(document.locate(["unknown", i]), path)
        for i, path in enumerate(document.data.get("unknown", ()))
        if path not in OPEN_MAPPINGS and field(expand(path)) is None
    ]
    if findings:
        raise DocumentError(findings)


def _nested(document: Document) -> Document:
    """The document with dotted keys and short names spread out, each value still knowing its place."""
    findings = []
    for key in document.data:
        path = expand(key)
        location = document.locate([key], key=True)
        if "." in key and field(path) is None:
            findings.append(_unknown_fact(location, key))
            continue
        for other, value in document.data.items():
            if other != key and path.startswith(expand(other) + ".") and not isinstance(value, Mapping):
                message = f"`{shown_entry(key)}` and `{other}` contradict each other"
                findings.append(Diagnostic(location, "contradiction", message, f"`{other}` is not a mapping"))
    first: dict[str, str] = {}
    for key, value in document.data.items():
        for path in _leaf_paths(expand(key), value):
            if first.setdefault(path, key) != key:
                location = document.locate([key], key=True)
                said, *keys = map(shown_entry, (path, first[path], key))
                message = f"`{said}` is given twice, by `{keys[0]}` and by `{keys[1]}`"
                findings.append(Diagnostic(location, "duplicate-key", message))
    if findings:
        raise DocumentError(findings)
    return document.spread({key: steps_to(expand(key)) for key in document.data})


def _leaf_paths(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for name, below in value.items():
            yield from _leaf_paths(f"{path}.{name}", below)
    else:
        yield path


def steps_to(path: str) -> list[str]:
    """The steps of a full path; the names in `env`, `labels` and `packages` are one step, whatever dots they have."""
    head, _, rest = path.partition(".")
    return [head, rest] if head in OPEN_MAPPINGS and rest else path.split(".")
