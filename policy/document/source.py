"""Reads YAML straight from libyaml's event stream into values and positions.

PyYAML's node and constructor layers cost six times what libyaml itself does, drop positions, keep the last
of two equal keys and read `yes`, `0.10` and `2027-03-31` by YAML 1.1. Here a plain scalar has one meaning
everywhere: that of YAML 1.2's core schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from policy.document.diagnostic import Diagnostic, DocumentError, Location
from policy.document.echo import without_echo
from policy.document.files import MAX_BYTES, Source, decode, line_and_column, read_source, read_stream

__all__ = [
    "MAX_BYTES",
    "Document",
    "Source",
    "decode",
    "merge_mappings",
    "parse",
    "plain_scalar",
    "read_source",
    "read_stream",
]

# Aliases share nodes, so a few lines can stand for billions, and every check sees them expanded. A file may grow
# to a small multiple of what it holds.
MOST_GROWTH = 4
FREE_GROWTH = 10_000
MAX_DEPTH = 64

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_RADIX = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class Document(NamedTuple):
    """A parsed file: `data` is plain JSON-like values, `marks` a tree of the same shape that holds positions."""

    source: Source
    data: Any
    marks: _Marks

    @classmethod
    def unmarked(cls, name: str, data: Any) -> Document:
        """A document of values that were never text (a compiled policy, a merged release): no positions."""
        return cls(Source(name, ""), data, _Marks(_START))

    def spread(self, steps: Mapping[str, Sequence[str]]) -> Document:
        """The document with each top-level key moved to the path `steps[key]`, positions and all.

        Mappings that meet are merged; the caller sees to it that nothing else does.
        """
        data: dict[str, Any] = {}
        marks = _Marks(self.marks.at)
        for key, value in self.data.items():
            found = self.marks.child(key)
            at, node = (self.marks.at, self.marks) if found is None else found
            for step in reversed(steps[key]):
                above = _Marks(at)
                above.keys[step], above.nodes[step] = at, node
                value, node = {step: value}, above  # noqa: PLW2901  (wrapped from the inside out)
            data = merge_mappings(data, value)
            marks.merge(node)
        return Document(self.source, data, marks)

    def below(self, path: Sequence[str | int]) -> Document:
        """The part at `path` as a document of its own, each value still knowing its place. `path` must exist."""
        data, marks = self.data, self.marks
        for step in path:
            data = data[step]
            child = marks.child(step)
            marks = marks if child is None else child[1]
        return Document(self.source, data, marks)

    def locate(self, path: Sequence[str | int], *, key: bool = False) -> Location:
        """Where the node at `path` stands; with `key`, where its key does. The nearest parent if it is absent."""
        if not self.source.text:
            return Location(self.source.name)
        node, at = self.marks, self.marks.at
        for i, step in enumerate(path):
            child = node.child(step)
            if child is None:
                break
            key_at, node = child
            at = key_at if key and i == len(path) - 1 else node.at
        return _location(self.source.name, at)


class _Place(NamedTuple):
    """A position, both from 0."""

    line: int
    column: int


# Libyaml's own are kept as they come: few of them are ever looked at.
_Mark = _Place | yaml.error.Mark


_START = _Place(0, 0)


class _Marks:
    """The position of a node and of its children: by key for a mapping, by index for a sequence.

    Of a scalar the bare position is kept: most nodes are scalars, and have nothing else.
    """

    __slots__ = ("at", "keys", "nodes", "size")

    def __init__(self, at: _Mark) -> None:
        self.at = at
        self.keys: dict[str | int, _Mark] = {}
        self.nodes: dict[str | int, _Marks | _Mark] = {}
        self.size = 1

    def merge(self, other: _Marks) -> None:
        """Take over the children of `other`, merging those that both have."""
        for step, node in other.nodes.items():
            mine = self.nodes.get(step)
            if isinstance(mine, _Marks) and isinstance(node, _Marks) and mine.nodes and node.nodes:
                mine.merge(node)
            else:
                self.nodes[step] = node
                self.keys[step] = other.keys.get(step, node.at if isinstance(node, _Marks) else node)

    def child(self, step: str | int) -> tuple[_Mark, _Marks] | None:
        node = self.nodes.get(step)
        if node is None:
            return None
        marks = node if isinstance(node, _Marks) else _Marks(node)
        return self.keys.get(step, marks.at), marks


def merge_mappings(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Both, `over` winning; mappings that meet are merged. Neither is changed."""
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            result[key] = merge_mappings(below, value)
        else:
            result[key] = value
    return result


def parse(source: Source, duplicates: list[Diagnostic] | None = None) -> Document:
    """Parse one YAML document (JSON is YAML). Raises `DocumentError` with file, line and column.

    Equal keys are put into `duplicates` where it is given, the last of them counting, and raised otherwise.
    """
    composer = _Composer(source)
    document = composer.document()
    if duplicates is not None:
        duplicates.extend(composer.duplicates)
    elif composer.duplicates:
        raise DocumentError(composer.duplicates)
    return document


def _location(name: str, at: _Mark) -> Location:
    return Location(name, at.line + 1, at.column + 1)


class _Composer:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.anchors: dict[str, tuple[Any, _Marks]] = {}
        self.duplicates: list[Diagnostic] = []
        self.count = 0  # nodes read, aliases not expanded

    def document(self) -> Document:
        try:
            loader = _LOADER(self.source.text)
            self.next: Callable[[], Any] = loader.get_event
            return self._document()
        except yaml.MarkedYAMLError as error:
            raise self._syntax_error(error) from error
        except (yaml.reader.ReaderError, UnicodeEncodeError) as error:
            # Its position counts bytes or characters, by which reader is installed; the character is the first such.
            text = self.source.text
            wrong = text[error.start] if isinstance(error, UnicodeError) else chr(error.character)
            message = f"the character U+{ord(wrong):04X} is not allowed in YAML"
            line, column = line_and_column(text.partition(wrong)[0])
            raise self._fail(_Place(line - 1, column - 1), "yaml-syntax", message, "remove it") from error

    def _document(self) -> Document:
        self.next()  # stream start
        event = self.next()
        if isinstance(event, yaml.StreamEndEvent):
            raise self._fail(
                _START, "empty-file", "the file is empty", "a document begins with `apiVersion: runnerctl/v1`"
            )
        data, marks = self._node(self.next(), 0)
        self.next()  # document end
        event = self.next()
        if not isinstance(event, yaml.StreamEndEvent):
            message = "the file holds more than one YAML document"
            raise self._fail(event.start_mark, "several-documents", message, "one a file")
        return Document(self.source, data, marks)

    def _node(self, event: Any, depth: int) -> tuple[Any, _Marks]:
        self.count += 1
        kind = type(event)
        if kind is yaml.ScalarEvent:
            result = self._scalar(event)
        elif kind is yaml.AliasEvent:
            return self._alias(event)
        elif depth >= MAX_DEPTH:
            raise self._fail(event.start_mark, "too-deep", f"nested deeper than {MAX_DEPTH} levels")
        elif kind is yaml.MappingStartEvent:
            self._refuse_tag(event)
            result = self._mapping(event, depth + 1)
        else:
            self._refuse_tag(event)
            result = self._sequence(event, depth + 1)
        if event.anchor:
            self.anchors[event.anchor] = result
        return result

    def _mapping(self, start: Any, depth: int) -> tuple[dict[str, Any], _Marks]:
        # The hottest loop of all: a method call less for each key is a tenth of the whole reading.
        data: dict[str, Any] = {}
        marks = _Marks(start.start_mark)
        keys, nodes, next_ = marks.keys, marks.nodes, self.next
        scalar, end, plain = yaml.ScalarEvent, yaml.MappingEndEvent, plain_scalar
        size = 1
        while type(event := next_()) is not end:
            if type(event) is not scalar:
                raise self._fail(event.start_mark, "key-not-scalar", "a key must be a plain word")
            key = event.value
            at: Any = event.start_mark
            if key == "<<" and not event.style:
                raise self._fail(
                    at, "merge-key", "merge keys (`<<`) are not supported", "write the fields out"
                )
            follower = next_()
            child: Any
            if type(follower) is scalar and follower.anchor is None and follower.tag is None:
                self.count += 1
                value = follower.value if follower.style else plain(follower.value)
                child = follower.start_mark
                size += 1
            else:
                value, child = self._node(follower, depth)
                size += child.size
            if key in data:
                self._duplicate(key, at, keys[key])
            data[key] = value
            keys[key], nodes[key] = at, child
            if size > FREE_GROWTH:
                self._refuse_growth(size, at)
        marks.size = size
        return data, marks

    def _duplicate(self, key: str, at: _Mark, before: _Mark) -> None:
        first = _location(self.source.name, before)
        message = f"the key `{key}` stands twice"
        self.duplicates.append(self._finding(at, "duplicate-key", message, f"the first is at {first}"))

    def _sequence(self, start: Any, depth: int) -> tuple[list[Any], _Marks]:
        data: list[Any] = []
        marks = _Marks(start.start_mark)
        size = 1
        while type(event := self.next()) is not yaml.SequenceEndEvent:
            if type(event) is yaml.ScalarEvent and event.anchor is None and event.tag is None:
                self.count += 1
                size += 1
                at: Any = event.start_mark
                marks.nodes[len(data)] = at
                data.append(event.value if event.style else plain_scalar(event.value))
                continue
            value, child = self._node(event, depth)
            marks.nodes[len(data)] = child if child.nodes else child.at
            data.append(value)
            size += child.size
            if size > FREE_GROWTH:
                self._refuse_growth(size, child.at)
        marks.size = size
        return data, marks

    def _refuse_growth(self, size: int, at: _Mark) -> None:
        if size > FREE_GROWTH + MOST_GROWTH * self.count:
            message = f"more than {MOST_GROWTH} times what the file holds, once its aliases are expanded"
            raise self._fail(at, "too-many-nodes", message, "write out what differs, or split the file")

    def _alias(self, event: Any) -> tuple[Any, _Marks]:
        try:
            return self.anchors[event.anchor]
        except KeyError:
            raise self._fail(
                event.start_mark, "unknown-alias", f"the alias `*{event.anchor}` has no anchor"
            ) from None

    def _scalar(self, event: Any) -> tuple[Any, _Marks]:
        marks = _Marks(event.start_mark)
        if event.tag is not None:
            self._refuse_tag(event)
        # Quoted or a block: text, whatever it looks like.
        return event.value if event.style else plain_scalar(event.value), marks

    def _refuse_tag(self, event: Any) -> None:
        if event.tag is not None and event.tag != "!":
            raise self._fail(
                event.start_mark, "yaml-tag", f"YAML tags (`{event.tag}`) are not supported", "remove it"
            )

    def _syntax_error(self, error: yaml.MarkedYAMLError) -> DocumentError:
        mark = error.problem_mark or error.context_mark
        at = mark or _START
        problem = error.problem or "not YAML"
        lines = self.source.text.splitlines()
        line = lines[mark.line] if mark and mark.line < len(lines) else ""
        tabbed = "\t" in line[: mark.column + 1 if mark else 0]
        if tabbed and ("token" in problem or "tab character" in problem):
            return self._fail(at, "yaml-tab", "a tab cannot indent YAML", "use spaces")
        if "nesting depth" in problem:
            return self._fail(at, "too-deep", f"nested deeper than {MAX_DEPTH} levels")
        if "found undefined alias" in problem or "undefined alias" in str(error.context or ""):
            return self._fail(at, "unknown-alias", problem)
        context = f" {error.context}" if error.context else ""
        return self._fail(at, "yaml-syntax", f"not valid YAML: {problem}{context}")

    def _finding(self, at: _Mark, code: str, message: str, help_: str = "") -> Diagnostic:
        finding = Diagnostic(_location(self.source.name, at), code, message, help_)
        return without_echo(self.source.text, finding)

    def _fail(self, at: _Mark, code: str, message: str, help_: str = "") -> DocumentError:
        return DocumentError([self._finding(at, code, message, help_)])


def plain_scalar(text: str) -> Any:
    """The value of an unquoted scalar by YAML 1.2's core schema (also used for `--set path=value`)."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "-+.0123456789":
        return text
    if _INTEGER.match(text):
        # Python refuses integers of over 4,300 digits; such a scalar is text that happens to be digits.
        return int(text) if len(text) < 4300 else text
    if _RADIX.match(text):
        return int(text, 0)
    return float(text) if _FLOAT.match(text) else text
