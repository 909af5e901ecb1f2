"""Collects an upgrade report: counts come first, so what follows them is spooled, not held in memory."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from typing import IO, Protocol

from policy.upgrade.change import Change
from policy.upgrade.markdown import (
    TABLE_HEAD,
    change_details,
    change_row,
    escaped,
    invalid_row,
    tally_markdown,
)
from policy.upgrade.tally import Tally
from policy.upgrade.text import change_text, invalid_text, is_told, tally_text

__all__ = ["REPORTS", "Report"]

# Spools stay in memory up to this size, and go to a temporary file beyond it.
SPOOLED = 1 << 22
# GitHub takes comments of at most 65,536 characters; the rules and the counts need some of them.
MARKDOWN_ROWS, MARKDOWN_DETAILS = 24_000, 24_000
MARKDOWN_RULES = 14_000


class Report(Protocol):
    def add(self, change: Change) -> None: ...

    def add_invalid(self, name: str, message: str) -> None: ...

    def chunks(self, tally: Tally) -> Iterator[str]: ...


class _Spool:
    def __init__(self) -> None:
        self.file: IO[str] = tempfile.SpooledTemporaryFile(SPOOLED, "w+", encoding="utf-8", newline="")  # noqa: SIM115
        self.size = 0

    def write(self, text: str) -> None:
        self.file.write(text)
        self.size += len(text)

    def chunks(self) -> Iterator[str]:
        self.file.seek(0)
        while chunk := self.file.read(1 << 16):
            yield chunk
        self.file.close()


class TextReport:
    """Counts, each deployment that there is anything to say of, the rules."""

    def __init__(self) -> None:
        self.body = _Spool()

    def add(self, change: Change) -> None:
        if is_told(change):
            self.body.write("\n" + change_text(change))

    def add_invalid(self, name: str, message: str) -> None:
        self.body.write("\n" + invalid_text(name, message))

    def chunks(self, tally: Tally) -> Iterator[str]:
        yield tally.line + "\n"
        yield from self.body.chunks()
        if rules := tally_text(tally):
            yield "\n" + rules


class JsonReport:
    """The document of `schemas/upgrade.schema.json`, every deployment in it."""

    def __init__(self) -> None:
        self.deployments = _Spool()
        self.invalid = _Spool()

    def add(self, change: Change) -> None:
        self.deployments.write((",\n  " if self.deployments.size else "\n  ") + json.dumps(change.as_json()))

    def add_invalid(self, name: str, message: str) -> None:
        entry = json.dumps({"name": name, "message": message})
        self.invalid.write((",\n  " if self.invalid.size else "\n  ") + entry)

    def chunks(self, tally: Tally) -> Iterator[str]:
        head = {
            "from": tally.before,
            "to": tally.after,
            "summary": tally.as_json(),
            "pins": [{**pin.as_json(), "deployments": count} for pin, count in tally.rotting],
        }
        yield json.dumps(head, indent=1)[:-2] + ',\n "deployments": ['
        yield from self.deployments.chunks()
        yield '\n ],\n "invalid": ['
        yield from self.invalid.chunks()
        yield "\n ]\n}\n"


class MarkdownReport:
    """For a pull request comment: what does not fit into one is counted, not silently dropped."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.details: list[str] = []
        self.sizes = {"rows": 0, "details": 0}
        self.left_out = {"rows": 0, "details": 0}

    def add(self, change: Change) -> None:
        if is_told(change):
            self._take("rows", self.rows, change_row(change), MARKDOWN_ROWS)
            self._take("details", self.details, change_details(change), MARKDOWN_DETAILS)

    def add_invalid(self, name: str, message: str) -> None:
        self._take("rows", self.rows, invalid_row(name, message), MARKDOWN_ROWS)

    def _take(self, what: str, kept: list[str], text: str, most: int) -> None:
        if self.left_out[what] or self.sizes[what] + len(text) > most:
            self.left_out[what] += 1
            return
        self.sizes[what] += len(text)
        kept.append(text)

    def chunks(self, tally: Tally) -> Iterator[str]:
        yield f"## Runner changes from vLLM {escaped(tally.before)} to {escaped(tally.after)}\n\n"
        yield f"{escaped(tally.line)}\n\n"
        if self.rows:
            yield TABLE_HEAD
            yield from self.rows
            yield "\n"
        yield from self.details
        if left := self.left_out["rows"]:
            yield f"{left} more deployments are not shown here; `--format json` has all of them.\n\n"
        elif left := self.left_out["details"]:
            yield f"The details of {left} more deployments are not shown here; `--format text` has them.\n\n"
        rules = tally_markdown(tally)
        if len(rules) > MARKDOWN_RULES:
            yield f"{len(tally.rotting)} rules rot and {len(tally.keeps)} would keep runners; `--format text` lists them.\n"
        else:
            yield rules


REPORTS: dict[str, Callable[[], Report]] = {
    "text": TextReport,
    "json": JsonReport,
    "markdown": MarkdownReport,
}
