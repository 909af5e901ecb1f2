"""Formats the text of a policy or of a test file, or refuses to."""

from __future__ import annotations

from collections.abc import Mapping

from policy.document.comments import LINE_ENDS, comments
from policy.document.source import Source, parse
from policy.formatting.order import ORDERED, key_order
from policy.formatting.reorder import Edit, line_end, reorder
from policy.formatting.spans import read_spans
from policy.input_error import InputError

__all__ = ["format_text"]

_SCHEMAS = {"RunnerPolicyTest": "policy-test"}


def format_text(source: Source) -> str:
    """The text with its keys in the order of the schema, and a line end at its end; nothing else is changed.

    What the text says is the same before and after, and so is every comment. Raises `DocumentError` for text that is
    not one YAML document, and `InputError` rather than changing what it says.
    """
    data = parse(source).data
    text = _ended(source, data)
    kind = data.get("kind") if isinstance(data, Mapping) else None
    schema = _SCHEMAS.get(kind, "policy") if isinstance(kind, str) else "policy"
    for path, place in ORDERED:
        text = _ordered(text, path, key_order(schema, place))
    if text != source.text:
        _check(source, text, data)
    return text


def _ended(source: Source, data: object) -> str:
    """The text with a line end, unless it ends in a block scalar, whose value would get one, too."""
    if source.text.endswith(tuple(LINE_ENDS)):
        return source.text
    ended = source.text + line_end(source.text)
    return ended if parse(Source(source.name, ended)).data == data else source.text


def _ordered(text: str, path: tuple[str, ...], order: tuple[str, ...]) -> str:
    """The text with every mapping at `path` in order: such mappings never overlap."""
    found = (reorder(text, node, order, is_root=not path) for node in read_spans(text).at(path))
    edits: list[Edit] = [edit for edit in found if edit is not None]
    for edit in sorted(edits, key=lambda e: e.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _remarks(text: str) -> list[str]:
    """What the comments say, wherever they are."""
    return sorted(comment.text for comment in comments(text))


def _check(source: Source, text: str, data: object) -> None:
    try:
        same = parse(Source(source.name, text)).data == data and _remarks(text) == _remarks(source.text)
    except InputError:
        same = False
    if not same:
        raise InputError(
            f"{source.name}: not formatted, as this would change what it says; put its keys in order by hand"
        )
