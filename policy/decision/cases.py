"""Unknown facts: takes them apart, value by value, until every case has a decision, and compares the decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from typing import Any

from packaging.specifiers import SpecifierSet

from policy.decision.decision import Decision, Failure
from policy.decision.serving import SWITCH_PATH, SWITCH_VALUES, Undecided
from policy.facts.facts import UNKNOWN, Facts
from policy.facts.fields import OPEN_MAPPINGS, field
from policy.rules.match import Compare, Differs, Equal, Glob, Match, Release, Test, is_glob

__all__ = ["settle"]

# Each case is one full resolution. Past this many the honest answer is that it was not settled.
MAX_CASES = 20_000
# Sharing a text among three globs costs the cube of their number.
MOST_TRIPLES = 8
# An architecture that no rule names stands for all the others.
UNNAMED = "SomeArchitectureThatNoRuleNames"


class _Differ(Exception):  # noqa: N818  (ends the search: two cases have different answers)
    pass


def settle(
    decide: Callable[[Facts], Decision],
    facts: Facts,
    matches: Sequence[Match],
    reasons: Mapping[str, str],
) -> Decision:
    """The decision for `facts`, whatever the unknown facts turn out to be; `undetermined` if that matters.

    `matches` are all the matches in play: only the values that they can tell apart are tried, so the answer
    is exact. `reasons` say why facts are unknown, for the message.
    """
    search = _Search(decide, matches)
    try:
        cases = list(search.decisions(facts, ()))
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
        if "object" in types:
            if "null" in types:
                yield facts.replace(path, None)
            yield facts.open_object(path)
            return
        known = field(path)
        for value in _values(path, types, known.enum if known else (), list(self.tests(path))):
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


def _values(path: str, types: Sequence[str], enum: Sequence[Any], tests: Sequence[Test]) -> list[Any]:
    """Values of which every value of the fact behaves like one, under these tests."""
    named = _named(tests)
    if "array" in types:
        texts = [str(v) for v in named]
        values: list[Any] = [[UNNAMED], *([t] for t in texts)]
        values.extend(list(pair) for pair in combinations(texts[:24], 2))
    elif types[0] == "boolean":
        values = [False, True]
    elif enum:
        values = [v for v in enum if v is not None]
    elif {"integer", "number"} & set(types):
        numbers = sorted({v for v in named if isinstance(v, (int, float)) and not isinstance(v, bool)} | {1})
        values = sorted({v + step for v in numbers for step in (-1, 0, 1)})
    elif path == SWITCH_PATH:
        values = [*(str(v) for v in named), *SWITCH_VALUES.values(), UNNAMED]
    else:
        values = [*(str(v) for v in named), "some value that no rule names"]
    nullable = "null" in types or path.partition(".")[0] in OPEN_MAPPINGS
    return [*values, None] if nullable else values


def _named(tests: Sequence[Test]) -> list[Any]:
    """The values that the tests name, with examples for globs, one by one and together, and for version ranges."""
    found: dict[Any, None] = {}
    globs: dict[str, None] = {}
    for test in tests:
        if isinstance(test, Glob) or (isinstance(test, Differs) and is_glob(test.value)):
            globs[str(test.pattern if isinstance(test, Glob) else test.value)] = None
        elif isinstance(test, (Equal, Differs)):
            found[test.value] = None
        elif isinstance(test, Compare):
            found[int(test.bound) if float(test.bound).is_integer() else test.bound] = None
        elif isinstance(test, Release):
            for specifier in SpecifierSet(test.specifier):
                version = specifier.version.removesuffix(".*")
                found.update(dict.fromkeys((f"{version}.dev0", version, f"{version}.1", "0", "99999")))
    found.update(dict.fromkeys(_shared(list(globs)[:24])))
    return list(found)


def _shared(globs: Sequence[str]) -> Iterator[str]:
    """Texts that match each glob alone, and those that two or three of them share if any text does."""
    for glob in globs:
        yield glob.replace("*", "").replace("?", "x")
        yield glob.replace("*", "x").replace("?", "x")
    for some in (*permutations(globs, 2), *(permutations(globs, 3) if len(globs) <= MOST_TRIPLES else ())):
        text = "*"
        for glob in some:  # each fills the first star of the one before: `a*` and `*b` give `ab`
            text = text.replace("*", glob, 1)
        yield text.replace("*", "").replace("?", "x")


def _agreed(cases: Sequence[Decision], split: Iterable[str]) -> Decision:
    """One decision of cases with the same answer: what is not common to all of them is left out."""
    first = cases[0]
    if len(cases) == 1:
        return first
    warnings = tuple(w for w in first.warnings if all(w in c.warnings for c in cases))
    errors = tuple(e for e in first.errors if all(e in c.errors for c in cases))
    if first.errors and not errors:
        shared = set.intersection(*({f for e in c.errors for f in e.features} for c in cases))
        kept = tuple(f for e in first.errors for f in e.features if f in shared)
        message = "the release cannot serve this deployment, whatever the unknown facts are"
        errors = (Failure("unsupported-features" if kept else "engine-refuses", message, kept),)
    if first.status == "ok" and any(c.decided_by != first.decided_by for c in cases):
        names = ", ".join(f"`{p}`" for p in split)
        warnings = (*warnings, f"the same runner whatever is true of {names}; who decides it differs")
    return replace(first, warnings=warnings, errors=errors)


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
