"""Reads policy files for lint: every mistake of every file in one go, and whatever is sound in spite of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from policy.document.diagnostic import Diagnostic, DocumentError
from policy.document.schema import mistakes
from policy.document.source import Document, Source, parse
from policy.facts.facts import facts_from_document
from policy.lint.test_facts import all_fit, plainly_nested
from policy.lint.text import PolicyText, RuleText, TestText
from policy.rules.policy_set import PolicyFile, PolicySet, Rule, clashes, read_parts

__all__ = ["Read", "read"]


class Read:
    """What was read: the files that are YAML, the rules of all of them as one set, and what is wrong.

    `complete` says that there is no file whose rules and tests are not known.
    """

    def __init__(self) -> None:
        self.files: list[PolicyText] = []
        self.policies = PolicySet()
        self.mistakes: list[Diagnostic] = []
        self.complete = True


def read(sources: Iterable[Source]) -> Read:
    """Read every source as far as it goes. Raises nothing for what is wrong in one."""
    done = Read()
    policies: list[PolicyFile] = []
    for source in sorted(sources, key=lambda source: source.name):
        try:
            document = parse(source, done.mistakes)
        except DocumentError as error:
            done.mistakes.extend(error.diagnostics)
            done.complete = False
            continue
        text = PolicyText(document)
        done.files.append(text)
        policy = _policy(text, done.mistakes)
        if policy is not None:
            policies.append(policy)
    done.mistakes.extend(clashes(sorted(policies, key=lambda file: (file.name, file.source))))
    done.policies = _composed(policies, done.files)
    return done


def _policy(text: PolicyText, found: list[Diagnostic]) -> PolicyFile | None:
    """Fill `text` with what is sound in it, and `found` with what is not. None where there is no policy in it."""
    document = text.document
    tests_only = _is_test_file(document)
    unsound: set[tuple[str | int, ...]] = set()
    for path, diagnostic in mistakes(document, "policy-test" if tests_only else "policy"):
        found.append(diagnostic)
        unsound.add(tuple(path[:2]))
    data = document.data
    if unsound & {(), ("apiVersion",), ("kind",)}:
        return None  # another kind of document: its rules mean something else
    text.expected = frozenset(_ids(data.get("tests"), "expect", "rule"))
    text.tests = tuple(_tests(text, unsound, found))
    if tests_only:
        text.about = _about(document)
        return None
    if not isinstance(data.get("rules"), list) or ("rules",) in unsound:
        return None
    text.written = frozenset(_ids(data["rules"], "id"))
    sound = [i for i in range(len(data["rules"])) if ("rules", i) not in unsound]
    policy, meant = read_parts(_pruned(document, unsound), sound)
    found.extend(meant)
    wrong = [(d.location.line, d.location.column) for d in meant]
    text.metadata = _sound_part(data, "metadata", unsound)
    text.env = policy.env
    text.rules = tuple(
        RuleText(text, i, data["rules"][i], None if _holds(document, i, wrong) else rule)
        for i, rule in zip(sound, policy.rules, strict=True)
    )
    return policy


def _is_test_file(document: Document) -> bool:
    """By its kind; by its name where the kind is wrong, so that the message is about what was meant."""
    kind = document.data.get("kind") if isinstance(document.data, Mapping) else None
    return kind == "RunnerPolicyTest" or PurePath(document.source.name).stem.endswith("_test")


def _about(document: Document) -> tuple[str, ...]:
    """The files and folders that a test file is about: those that it names, or its folder."""
    here = os.path.dirname(document.source.name)  # noqa: PTH120  (as the user writes it, not as it resolves)
    named = document.data.get("policies", ["."])
    listed = named if isinstance(named, list) else []
    return tuple(os.path.normpath(os.path.join(here, name)) for name in listed if isinstance(name, str))  # noqa: PTH118


def _ids(entries: Any, *way: str) -> Iterator[str]:
    """The texts at `way` in each entry that has one, however wrong the rest of it is."""
    for entry in entries if isinstance(entries, list) else ():
        for step in way:
            entry = entry.get(step) if isinstance(entry, Mapping) else None  # noqa: PLW2901
        if isinstance(entry, str):
            yield entry


def _pruned(document: Document, unsound: set[tuple[str | int, ...]]) -> Document:
    """The document without what does not fit the schema beside its rules. Tests are read on their own."""
    data = {key: value for key, value in document.data.items() if key in ("rules", "env")}
    if any(path[:1] == ("env",) for path in unsound):
        del data["env"]
    metadata = _sound_part(document.data, "metadata", unsound)
    return Document(document.source, {**data, "metadata": {"name": "", **metadata}}, document.marks)


def _sound_part(data: Mapping[str, Any], name: str, unsound: set[tuple[str | int, ...]]) -> Mapping[str, Any]:
    part = data.get(name)
    if not isinstance(part, Mapping) or (name,) in unsound:
        return {}
    return {key: value for key, value in part.items() if (name, key) not in unsound}


def _holds(document: Document, index: int, wrong: Sequence[tuple[int, int]]) -> bool:
    """Whether one of the places lies in a rule: between where it begins and where the next one does."""
    if not wrong:
        return False
    begin, end = document.locate(["rules", index]), document.locate(["rules", index + 1])
    first, after = (begin.line, begin.column), (end.line, end.column)
    if after <= first:  # the last one: an absent place is that of the list
        return any(place >= first for place in wrong)
    return any(first <= place < after for place in wrong)


def _tests(
    text: PolicyText, unsound: set[tuple[str | int, ...]], found: list[Diagnostic]
) -> Iterator[TestText]:
    entries = text.document.data.get("tests")
    if not isinstance(entries, list) or ("tests",) in unsound:
        return
    sound = [(i, entry) for i, entry in enumerate(entries) if ("tests", i) not in unsound]
    plain = [plainly_nested(entry["given"]) for _, entry in sound]
    fitting = all_fit([facts for facts in plain if facts is not None])
    for (i, entry), nested in zip(sound, plain, strict=True):
        facts = nested if fitting else None
        if facts is None:
            try:
                facts = facts_from_document(text.document.below(["tests", i, "given"]))
            except DocumentError as error:
                found.extend(error.diagnostics)
                continue
        yield TestText(text, ("tests", i), entry, facts)


def _composed(policies: Sequence[PolicyFile], files: Sequence[PolicyText]) -> PolicySet:
    """The set of the rules that could be read whole; of rules with one id, and of variables that two set, the first."""
    ordered = sorted(policies, key=lambda file: (file.name, file.source))
    whole = {(text.name, rule.id) for text in files for rule in text.rules if rule.rule is not None}
    rules: dict[str, Rule] = {}
    env: dict[str, str] = {}
    for file in ordered:
        for rule in file.rules:
            if (file.source, rule.id) in whole:
                rules.setdefault(rule.id, rule)
        for name, value in file.env.items():
            env.setdefault(name, value)
    ranked = sorted(rules.values(), key=lambda rule: rule.rank)
    return PolicySet(tuple(ordered), tuple(ranked), dict(sorted(env.items())))
