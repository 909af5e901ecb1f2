"""One run of lint: files in, findings out, in a total order. Reads no clock and prints nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from datetime import date

from policy.document.diagnostic import Diagnostic
from policy.document.source import Source
from policy.engine.catalog import Catalog
from policy.lint.finding import Edit, Finding, Fix, Span
from policy.lint.reading import read
from policy.lint.registry import Selection, by_name, checks
from policy.lint.rules import ANALYSED, CHECKED
from policy.lint.subject import Subject
from policy.lint.suppression import Suppression, suppressions

__all__ = ["lint"]

Work = Callable[[], Sequence[Finding]]


def lint(
    sources: Sequence[Source],
    catalog: Catalog,
    today: date,
    selection: Selection,
    unreadable: Sequence[Diagnostic] = (),
    beside: Callable[[Work], Work] = lambda work: work,
) -> tuple[Finding, ...]:
    """The findings of the selected rules in `sources`, which are one policy set.

    `unreadable` are what the caller could not read. Comments that silence findings are heeded, and checked. `beside`
    may begin the checks that rest on the analysis while the others run; what it returns is called for their findings.
    """
    done = read(sources)
    lines = {source.name: source.text.splitlines() for source in sources} if done.mistakes else {}
    found = [_mistake(d, lines.get(d.location.path, ())) for d in (*unreadable, *done.mistakes)]
    subject = Subject(done.files, done.policies, catalog, today, done.complete and not unreadable)
    analysed = beside(lambda: _checked(subject, ANALYSED, selection))
    found.extend(_checked(subject, CHECKED, selection))
    found.extend(analysed())
    comments = [comment for source in sources for comment in suppressions(source)]
    if comments:
        found = [*_silenced(found, comments, selection)]
    kept = {f.order: f for f in found if by_name()[f.name] in selection}
    return tuple(kept[order] for order in sorted(kept))


def _checked(subject: Subject, stems: Sequence[str], selection: Selection) -> list[Finding]:
    return [finding for rule, check in checks(stems) if rule in selection for finding in check(subject)]


def _mistake(diagnostic: Diagnostic, lines: Sequence[str]) -> Finding:
    """What reading found, as a finding. A number that was to be a string can be quoted at once."""
    from policy.lint.spans import span_in  # noqa: PLC0415  (most files have no mistakes)

    span = span_in(diagnostic.location, lines)
    fix = None
    if diagnostic.help.startswith('quote it: "') and span.end_column:
        quoted = diagnostic.help.removeprefix("quote it: ")
        if lines[span.line - 1][span.column - 1 : span.end_column - 1] == quoted[1:-1]:
            fix = Fix(f"quote {quoted}", (Edit(span, quoted),))
    rule = by_name()[diagnostic.code]
    return rule.finding(span, diagnostic.message, diagnostic.help, fix=fix)


def _silenced(
    found: Sequence[Finding], comments: Sequence[Suppression], selection: Selection
) -> Iterator[Finding]:
    """The findings that no comment covers, and those of the comments themselves."""
    named = by_name()
    used: dict[Span, set[str]] = {comment.span: set() for comment in comments}
    for finding in found:
        rule = named[finding.name]
        places = [finding.span, *(related.span for related in finding.related if rule.mutual)]
        covering = [c for c in comments if any(c.covers(place, finding.code) for place in places)]
        if rule.unread or not covering:
            yield finding
        for comment in covering:
            used[comment.span].add(finding.code)
    for comment in comments:
        ran = {rule.code for rule in named.values() if rule in selection}
        yield from _comment_findings(comment, comment.codes & ran - used[comment.span])


def _comment_findings(comment: Suppression, idle: Set[str]) -> Iterator[Finding]:
    named = by_name()
    for word in comment.unknown:
        yield named["unknown-code-in-suppression"].finding(comment.span, f"no rule `{word}` to ignore")
    if not comment.codes and not comment.unknown:
        yield named["unknown-code-in-suppression"].finding(comment.span, "this comment names no rule")
    if not comment.reason:
        yield named["suppression-without-reason"].finding(comment.span, "this comment gives no reason")
        return
    for code in sorted(idle):
        yield named["unused-suppression"].finding(comment.span, f"nothing here is found by {code}")
