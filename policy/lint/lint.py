"""One run of lint: files in, findings out, in a total order. Reads no clock and prints nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import date

from policy.document.diagnostic import Diagnostic
from policy.document.source import Source
from policy.engine.catalog import Catalog
from policy.lint.finding import Edit, Finding, Fix, Span
from policy.lint.reading import read
from policy.lint.registry import by_name, rules
from policy.lint.subject import Subject
from policy.lint.suppression import Suppression, suppressions
from policy.lint.text import span_in

__all__ = ["lint"]


def lint(
    sources: Sequence[Source],
    catalog: Catalog,
    today: date,
    codes: AbstractSet[str],
    unreadable: Sequence[Diagnostic] = (),
) -> tuple[Finding, ...]:
    """The findings of the rules `codes` in `sources`, which are one policy set.

    `unreadable` are what the caller could not read. Comments that silence findings are heeded, and checked.
    """
    done = read(sources)
    lines = {source.name: source.text.splitlines() for source in sources} if done.mistakes else {}
    found = [_mistake(d, lines.get(d.location.path, ())) for d in (*unreadable, *done.mistakes)]
    subject = Subject(done.files, done.policies, catalog, today, done.complete and not unreadable)
    for rule in rules():
        check = rule.check if rule.code in codes else None
        if check is not None:
            found.extend(check(subject))
    comments = [comment for source in sources for comment in suppressions(source)]
    kept = _silenced([f for f in found if f.code in codes], comments, codes) if comments else found
    return tuple(sorted({f.order: f for f in kept if f.code in codes}.values(), key=lambda f: f.order))


def _mistake(diagnostic: Diagnostic, lines: Sequence[str]) -> Finding:
    """What reading found, as a finding. A number that was to be a string can be quoted at once."""
    span = span_in(diagnostic.location, lines)
    fix = None
    if diagnostic.help.startswith('quote it: "') and span.end_column:
        quoted = diagnostic.help.removeprefix("quote it: ")
        if lines[span.line - 1][span.column - 1 : span.end_column - 1] == quoted[1:-1]:
            fix = Fix(f"quote {quoted}", (Edit(span, quoted),))
    rule = by_name()[diagnostic.code]
    return rule.finding(span, diagnostic.message, diagnostic.help, fix=fix)


def _silenced(
    found: Sequence[Finding], comments: Sequence[Suppression], codes: AbstractSet[str]
) -> Iterator[Finding]:
    """The findings that no comment covers, and those of the comments themselves."""
    unread = {rule.code for rule in rules() if rule.unread}
    used: dict[Span, set[str]] = {comment.span: set() for comment in comments}
    for finding in found:
        covering = (
            [c for c in comments if c.covers(finding.span, finding.code)]
            if finding.code not in unread
            else []
        )
        for comment in covering:
            used[comment.span].add(finding.code)
        if not covering:
            yield finding
    for comment in comments:
        yield from _comment_findings(comment, used[comment.span], codes)


def _comment_findings(
    comment: Suppression, used: AbstractSet[str], codes: AbstractSet[str]
) -> Iterator[Finding]:
    named = by_name()
    for word in comment.unknown:
        yield named["unknown-code-in-suppression"].finding(comment.span, f"no rule `{word}` to ignore")
    if not comment.codes and not comment.unknown:
        yield named["unknown-code-in-suppression"].finding(comment.span, "this comment names no rule")
    if not comment.reason:
        yield named["suppression-without-reason"].finding(comment.span, "this comment gives no reason")
        return
    for code in sorted((comment.codes & codes) - used):
        yield named["unused-suppression"].finding(comment.span, f"nothing here is found by {code}")
