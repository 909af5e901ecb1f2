"""The run of `runnerctl lint`: reads, calls, prints. Without Typer, whose start is longer than the run."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from policy.lint.finding import Finding
from runnerctl import __version__
from runnerctl.cli.exits import ExitCode, UsageError
from runnerctl.cli.lint_cache import LintCache, RawFile, plainly_read
from runnerctl.reporters.report import Report

if TYPE_CHECKING:
    from policy.document.diagnostic import Diagnostic
    from policy.document.source import Source
    from policy.lint.baseline import Baseline
    from policy.lint.registry import Selection
    from runnerctl.cli.lint_settings import LintSettings

__all__ = ["FORMATS", "run_lint"]

FORMATS = ("text", "json", "sarif", "github", "junit")
STDIN = "-"
# Of so many letters, a process beside this one is worth its start.
MUCH = 100_000
# A fix may make room for another one in the same place; more rounds than this are a circle.
MOST_ROUNDS = 10


class _Input(NamedTuple):
    """What is looked at: the files that could be read, why the others could not, and which is standard input."""

    sources: list[Source]
    unreadable: list[Diagnostic]
    stdin: str | None = None

    @property
    def lines(self) -> Mapping[str, Sequence[str]]:
        return {source.name: source.text.splitlines() for source in self.sources}


def run_lint(
    *,
    paths: Sequence[str] = (),
    format_: str = "text",
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    fix: bool = False,
    diff: bool = False,
    baseline: str | None = None,
    write_baseline: str | None = None,
    stdin_filename: str = "<stdin>",
    today: str | None = None,
    catalog: str | None = None,
    no_cache: bool = False,
) -> int:
    """Run, print, and return the exit code. Raises `InputError`."""
    from runnerctl.cli.lint_settings import lint_settings

    if format_ not in FORMATS:
        raise UsageError(f"--format {format_}: one of {', '.join(FORMATS)}")
    if fix and diff:
        raise UsageError("--fix and --diff exclude each other")
    settings = lint_settings(Path.cwd())
    chosen = (_split(select) or list(settings.select), [*settings.ignore, *_split(ignore)])
    known = None if write_baseline else _known(baseline or settings.baseline, given=baseline is not None)
    day = _day(today)
    if not paths:
        from runnerctl.cli.configured import policy_paths_here

        paths = policy_paths_here(Path.cwd())
    raw = plainly_read(paths)
    cache = None
    if raw is not None and not (no_cache or fix or diff):
        cache = LintCache(raw, [__version__, chosen, day.isoformat()], catalog)
        cached = cache.get()
        if cached is not None:
            lines = _Lines(raw)
            return _report(cached, lines, len(raw), known, format_, write_baseline)

    run = _Run(_selection(chosen, settings), day, catalog)
    held = _read(paths, stdin_filename) if raw is None else _decoded(raw)
    found = run(held)
    if cache is not None and not held.unreadable:
        cache.put(found)
    fixed = 0
    if fix or diff:
        before = {source.name: source.written for source in held.sources}
        found, held, fixed = _mended(run, found, held, known)
        if diff:
            return _show_diff(before, held)
        _write(before, held)
    checked = len(held.sources) + len(held.unreadable)
    stdin = "".join(s.written for s in held.sources if s.name == held.stdin) if fix and held.stdin else None
    return _report(found, held.lines if found else {}, checked, known, format_, write_baseline, fixed, stdin)


class _Lines(Mapping[str, Sequence[str]]):
    """The lines of files, split when one is asked for."""

    def __init__(self, raw: Sequence[RawFile]) -> None:
        self._raw = dict(raw)
        self._split: dict[str, Sequence[str]] = {}

    def __getitem__(self, name: str) -> Sequence[str]:
        if name not in self._split:
            self._split[name] = self._raw[name].decode("utf-8-sig", "replace").splitlines()
        return self._split[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)


class _Run(NamedTuple):
    """The same question, asked again after each round of fixes."""

    selection: Selection
    today: date
    catalog: str | None

    def __call__(self, held: _Input) -> tuple[Finding, ...]:
        from policy.lint.lint import lint
        from runnerctl.cli.inputs import open_catalog

        catalog = open_catalog(self.catalog)
        if sum(len(source.text) for source in held.sources) < MUCH:
            return lint(held.sources, catalog, self.today, self.selection, held.unreadable)
        from runnerctl.cli.beside import beside

        return lint(held.sources, catalog, self.today, self.selection, held.unreadable, beside)


def _selection(chosen: tuple[Sequence[str], Sequence[str]], settings: LintSettings) -> Selection:
    """The rules of these words. Raises `UnknownRuleError`, which names the settings where they have the word."""
    from policy.lint.registry import Selection, UnknownRuleError

    try:
        return Selection(*chosen)
    except UnknownRuleError:
        try:
            Selection(*(set(words) & set(own) for words, own in zip(chosen, settings.words, strict=True)))
        except UnknownRuleError as error:
            raise UsageError(f"{settings.path}: {error}") from error
        raise


def _split(words: Sequence[str]) -> list[str]:
    return [part.strip() for word in words for part in word.split(",")]


def _day(text: str | None) -> date:
    if text is None:
        return date.today()
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or day.isoformat() != text:  # it reads `20261201` and `2026-W49-2`, too
        raise UsageError(f"--today {text}: a day is written YYYY-MM-DD")
    return day


def _known(name: str | None, *, given: bool) -> Baseline | None:
    if name is None:
        return None
    from policy.lint.baseline import read_baseline

    try:
        return read_baseline(name, Path(name).read_text("utf-8"), _named_beside(name))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        option = "--baseline " if given else "the baseline of the settings, "
        raise UsageError(f"{option}{name}: cannot be read: {reason.lower()}") from error


def _named_beside(baseline: str) -> Callable[[str], str]:
    """What a baseline calls a file: its path from the folder of the baseline, however it is spelled.

    The folder of a file is taken as it is on the disk; the file itself may be a link that changes with every mount.
    """
    folder = os.path.dirname(os.path.realpath(baseline))  # noqa: PTH120

    @functools.cache
    def named(path: str) -> str:
        if path.startswith("<"):  # standard input without a name
            return path
        parent, name = os.path.split(path)
        try:
            found = os.path.relpath(os.path.join(os.path.realpath(parent), name), folder)  # noqa: PTH118
        except ValueError:  # another drive
            found = path
        return found.replace(os.sep, "/")

    return named


def _read(paths: Sequence[str], stdin_filename: str) -> _Input:
    """Every file of `paths` once, however it is named, and standard input for `-`."""
    from policy.document.diagnostic import DocumentError
    from policy.document.source import read_source, read_stream

    held = _Input([], [], stdin_filename if STDIN in paths else None)
    seen: set[str] = set()
    if held.stdin is not None:
        seen.add(os.path.realpath(held.stdin))  # what an editor holds stands for the file that it will become
        try:
            held.sources.append(read_stream(held.stdin, sys.stdin.buffer))
        except DocumentError as error:
            held.unreadable.extend(error.diagnostics)
    for given in (path for path in paths if path != STDIN):
        for path in _listed(given, held.unreadable):
            real = os.path.realpath(path)
            if real in seen:
                continue
            seen.add(real)
            try:
                held.sources.append(read_source(path))
            except DocumentError as error:
                held.unreadable.extend(error.diagnostics)
    return held


def _listed(given: str, unreadable: list[Diagnostic]) -> Iterator[Path]:
    """The policies and the tests that a path stands for; what cannot be listed goes to `unreadable`."""
    from policy.document.diagnostic import DocumentError
    from policy.rules.files import tests_of
    from policy.rules.policy_set import policy_paths

    try:
        yield from policy_paths(given)
    except DocumentError as error:
        unreadable.extend(error.diagnostics)
    with contextlib.suppress(OSError):  # said already: the policies are looked for in the same folders
        yield from tests_of(given)


def _decoded(raw: Sequence[RawFile]) -> _Input:
    from policy.document.diagnostic import DocumentError
    from policy.document.source import decode

    held = _Input([], [])
    for name, content in raw:
        try:
            held.sources.append(decode(name, content))
        except DocumentError as error:
            held.unreadable.extend(error.diagnostics)
    return held


def _mended(
    run: _Run, found: tuple[Finding, ...], held: _Input, known: Baseline | None
) -> tuple[tuple[Finding, ...], _Input, int]:
    """Apply safe fixes until there is none left: what is found then, in which texts, and how many were applied."""
    from policy.lint.baseline import without_known
    from policy.lint.fixing import apply_fixes

    fixed = 0
    for _ in range(MOST_ROUNDS):
        wanted, _stale = without_known(found, held.lines, known) if known is not None else (found, 0)
        done = apply_fixes(wanted, {source.name: source.text for source in held.sources})
        if not done.count:
            break
        fixed += done.count
        texts = [s._replace(text=done.texts.get(s.name, s.text)) for s in held.sources]
        held = _Input(texts, held.unreadable, held.stdin)
        found = run(held)
    return found, held, fixed


def _write(before: Mapping[str, str], held: _Input) -> None:
    """Write the texts that changed, each beside its file first. Standard input goes to standard output."""
    from runnerctl.cli.output import write_file

    for source in held.sources:
        if source.written != before[source.name] and source.name != held.stdin:
            write_file(source.written, source.name)


def _show_diff(before: Mapping[str, str], held: _Input) -> int:
    from runnerctl.reporters.unified import unified_diff

    changed = False
    for source in held.sources:
        old, new = before[source.name], source.written
        if old != new:
            changed = True
            diff = unified_diff(source.name, old, new)
            _write_document(diff.text)
            if diff.hidden:
                sys.stderr.write(
                    f"{source.name}: its diff hides secrets, so it cannot be applied; --fix mends the file\n"
                )
    if held.unreadable:
        sys.stderr.write("".join(f"{diagnostic}\n" for diagnostic in sorted(set(held.unreadable))))
        return int(ExitCode.INVALID)
    return int(ExitCode.NO if changed else ExitCode.OK)


def _write_document(text: str) -> None:
    """What is UTF-8 whatever the terminal is, such as a policy: nothing of it is escaped."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))


def _report(
    found: tuple[Finding, ...],
    lines: Mapping[str, Sequence[str]],
    checked: int,
    known: Baseline | None,
    format_: str,
    write_baseline: str | None,
    fixed: int = 0,
    stdin: str | None = None,
) -> int:
    """Print the findings, or write a baseline of them, and return the exit code."""
    from runnerctl.reporters.text import summary

    unread = _unread(found) if found else frozenset()
    if write_baseline is not None and not unread:
        return _write_baseline(write_baseline, found, lines)
    taken, stale = 0, 0
    if known is not None:
        from policy.lint.baseline import without_known

        left, stale = without_known(found, lines, known)
        left = tuple(finding for finding in found if finding in left or finding in unread)
        taken, found = len(found) - len(left), left
    report = Report(found, lines, checked, __version__, taken, fixed)
    output = _rendered(report, format_)
    if stdin is not None:
        _write_document(stdin)
        sys.stderr.write(output)
    elif format_ == "junit":  # its first line says that it is UTF-8
        _write_document(output)
    else:
        sys.stdout.write(output)
    with contextlib.suppress(OSError):  # `run` says it
        sys.stdout.flush()
    if format_ == "text":
        sys.stderr.write(summary(report) + "\n")
    if stale:
        sys.stderr.write(f"{stale} of the baseline no longer occur; --write-baseline takes them out\n")
    if unread:
        return int(ExitCode.INVALID)
    return int(ExitCode.NO if any(finding.severity != "note" for finding in found) else ExitCode.OK)


def _unread(found: Sequence[Finding]) -> frozenset[Finding]:
    """The findings of what could not be checked at all."""
    from policy.lint.registry import by_name

    return frozenset(finding for finding in found if by_name()[finding.name].unread)


def _rendered(report: Report, format_: str) -> str:
    if format_ == "json":
        from runnerctl.reporters.json_ import json_text

        return json_text(report)
    if format_ == "sarif":
        from runnerctl.reporters.sarif import sarif

        return sarif(report)
    if format_ == "github":
        from runnerctl.reporters.github import github

        return github(report)
    if format_ == "junit":
        from runnerctl.reporters.junit import junit

        return junit(report)
    from runnerctl.reporters.text import text

    return text(report, colour=_colour())


def _colour() -> bool:
    """Colour is for terminals, and for nobody who said NO_COLOR."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _write_baseline(name: str, found: Sequence[Finding], lines: Mapping[str, Sequence[str]]) -> int:
    from policy.lint.baseline import baseline_text
    from runnerctl.cli.output import write_file

    write_file(baseline_text(found, lines, _named_beside(name)), name)
    sys.stderr.write(f"{name}: {len(found)} finding{'' if len(found) == 1 else 's'}\n")
    return int(ExitCode.OK)
