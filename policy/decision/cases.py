"""Unknown facts: takes them apart, value by value, until every case has a decision, and compares the decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from policy.decision.decision import Decision, Failure
from policy.decision.serving import Undecided
from policy.decision.values import values_of
from policy.facts.facts import UNKNOWN, Facts
from policy.facts.fields import field
from policy.rules.match import Match, Test

__all__ = ["settle"]

# Each case is one full resolution. Past this many the honest answer is that it was not settled.
MAX_CASES = 1_000
# Of errors that depend on unknown facts, so many are shown.
MOST_ERRORS = 5


class _Differ(Exception):  # noqa: N818  (ends the search: two cases have different answers)
    pass


def settle(
    decide: Callable[[Facts], Decision],
    facts: Facts,
    matches: Sequence[Match],
    reasons: Mapping[str, str],
) -> Decision:
    """The decision for `facts`, whatever the unknown facts turn out to be; `undetermined` if that matters.

    `matches` are all the matches in play: only the values that they can tell apart are tried, and where these are
    not provably all, cases that agree prove nothing. `reasons` say why facts are unknown, for the message.
    """
    search = _Search(decide, matches)
    try:
        cases = list(search.decisions(facts, ()))
        if not search.complete:
            raise _Differ  # they agree, but there may be a value that was not tried
    except _Differ:
        vllm = facts.value("vllm")
        return _undetermined(None if vllm is UNKNOWN else str(vllm), search.split, reasons)
    return _agreed(cases, search.split)


class _Search:
    def __init__(self, decide: Callable[[Facts], Decision], matches: Sequence[Match]) -> None:
        self.decide = decide
        self.matches = matches
        self.first: Decision | None = None
        self.tried = 0
        self.complete = True
        self.split: dict[str, None] = {}

    def decisions(self, facts: Facts, above: tuple[str, ...]) -> Iterator[Decision]:
        self.tried += 1
        if self.tried > MAX_CASES:
            self.split = dict.fromkeys(above)
            raise _Differ
        try:
            decision = self.decide(facts)
        except Undecided as undecided:
            path = undecided.paths[0]
            # An object that vLLM always builds is only opened: what is missing are its fields.
            opened = (*above, path) if _types(path) != ("object",) else above
            for case in self.cases(facts, path):
                yield from self.decisions(case, opened)
            return
        if self.first is None:
            self.first = decision
        elif decision.answer != self.first.answer:
            self.split = dict.fromkeys(above)
            raise _Differ
        self.split.update(dict.fromkeys(above))
        yield decision

    def cases(self, facts: Facts, path: str) -> Iterator[Facts]:
        """The facts once for each value of `path` that the matches can tell apart."""
        types = _types(path)
        if set(types) <= {"object", "null"}:
            if "null" in types:
                yield facts.replace(path, None)
            yield facts.open_object(path)
            return
        values = values_of(path, field(path), list(self.tests(path)))
        self.complete = self.complete and values.complete
        for value in values.tried:
            yield facts.replace(path, value)

    def tests(self, path: str) -> Iterator[Test]:
        inputs = {path, "model_config.architecture"} if path == "model_config.architectures" else {path}
        for match in self.matches:
            for leaf in match.leaves():
                if leaf.path in inputs:
                    yield from leaf.tests


def _types(path: str) -> tuple[str, ...]:
    known = field(path)
    return known.types if known else ("string", "null")


def _agreed(cases: Sequence[Decision], split: Iterable[str]) -> Decision:
    """One decision of cases with the same answer: what is not common to all of them is left out."""
    first = cases[0]
    if len(cases) == 1:
        return first
    warnings = tuple(w for w in first.warnings if all(w in c.warnings for c in cases))
    errors = _common_errors(cases)
    if first.status == "ok" and any(c.decided_by != first.decided_by for c in cases):
        names = ", ".join(f"`{p}`" for p in split)
        warnings = (*warnings, f"the same runner whatever is true of {names}; who decides it differs")
    return first._replace(warnings=warnings, errors=errors)


def _common_errors(cases: Sequence[Decision]) -> tuple[Failure, ...]:
    """What is certain: the errors of all cases, or the features of all, or else each of the errors that may come."""
    first = cases[0]
    if not first.errors or all(c.errors == first.errors for c in cases):
        return first.errors
    everywhere = tuple(e for e in first.errors if all(e in c.errors for c in cases))
    if everywhere:
        return everywhere
    features = [{f for e in c.errors for f in e.features} for c in cases]
    shared = set.intersection(*features)
    if shared:
        kept = tuple(dict.fromkeys(f for e in first.errors for f in e.features if f in shared))
        message = f"whatever the unknown facts are, this is not supported: {', '.join(kept)}"
        return (Failure("unsupported-features", message, kept),)
    either = dict.fromkeys((e.code, e.message) for c in cases for e in c.errors)
    return tuple(
        Failure(code, f"depending on the unknown facts: {message}")
        for code, message in list(either)[:MOST_ERRORS]
    )


def _undetermined(vllm: str | None, split: Iterable[str], reasons: Mapping[str, str]) -> Decision:
    """Names every missing fact, those with the same reason together, and how to give them."""
    paths = tuple(split)
    by_reason: dict[str, list[str]] = {}
    for path in paths:
        by_reason.setdefault(_reason(path, reasons), []).append(path)
    failures = tuple(Failure("missing-facts", _how_to_give(paths, why)) for why, paths in by_reason.items())
    return Decision("undetermined", vllm, missing_facts=paths, errors=failures)


def _reason(path: str, reasons: Mapping[str, str]) -> str:
    """Why a fact is unknown: its own reason, or that of the config object that holds it."""
    while path not in reasons and "." in path:
        path = path.rpartition(".")[0]
    return reasons.get(path, "")


def _how_to_give(paths: Sequence[str], reason: str) -> str:
    names = ", ".join(f"`{path}`" for path in paths)
    why = f": {reason}" if reason else ""
    settings = " ".join(f"--set {_example(path)}" for path in paths)
    return f"{names} {'is' if len(paths) == 1 else 'are'} not known{why}; give {settings}"


def _example(path: str) -> str:
    """A setting of the fact with the values that it can take."""
    known = field(path)
    types = known.types if known else ("string",)
    if types[0] == "boolean":
        return f"{path}=true|false"
    if known and known.enum:
        return f"{path}={'|'.join(str(v) for v in known.enum if v is not None)}"
    if "array" in types:
        return f"'{path}=[{'LlamaForCausalLM' if 'architectures' in path else '...'}]'"
    return f"{path}=null" if "object" in types else f"{path}=VALUE"
