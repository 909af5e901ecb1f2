"""Policies: rules read from documents, checked for meaning and composed. The order of files never counts."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from policy.document.diagnostic import Diagnostic, DocumentError, Location
from policy.document.schema import check
from policy.document.source import Document, parse, read_source
from policy.environment import same_variable
from policy.facts.fields import SWITCH
from policy.input_error import reason_of
from policy.rules.files import policies_below
from policy.rules.match import Match
from policy.rules.read_match import MatchReader
from policy.rules.selection import Selection

__all__ = [
    "Enforce",
    "PolicyFile",
    "PolicySet",
    "PolicyTest",
    "Rule",
    "RunnerWish",
    "clashes",
    "compose",
    "load_policies",
    "policy_paths",
    "policy_tests",
    "read_parts",
    "read_policy",
    "rule_from_data",
]

RunnerWish = Literal["v1", "v2", "engine"]
Enforce = Literal["require", "prefer"]


class Rule(NamedTuple):
    """One rule: where `match` holds, `runner` is required or preferred."""

    id: str
    match: Match
    runner: RunnerWish
    enforce: Enforce
    priority: int
    reason: str
    expires: str | None
    env: Mapping[str, str]
    policy: str
    location: str
    data: Mapping[str, Any]

    @property
    def rank(self) -> tuple[int, int, str]:
        """Sorts the rule that decides first: `require`, then the higher priority, then the id."""
        return (0 if self.enforce == "require" else 1, -self.priority, self.id)


class PolicyTest(NamedTuple):
    """An entry of `tests:`: facts and what the decision must be.

    `entry` is the whole of it, with positions. `today` is the day of the test, `assume` the release that decides
    where the catalog does not know `given.vllm`, as for `resolve`.
    """

    name: str
    given: Mapping[str, Any]
    expect: Mapping[str, Any]
    location: str
    entry: Document
    today: str | None = None
    assume: str | None = None
    strict_env: bool = False


class PolicyFile(NamedTuple):
    """One document of kind RunnerPolicy."""

    name: str
    owner: str | None
    rules: tuple[Rule, ...]
    env: Mapping[str, str]
    tests: tuple[PolicyTest, ...]
    source: str
    text: str
    env_locations: Mapping[str, Location] = MappingProxyType({})

    @property
    def digest(self) -> str:
        """SHA-256 of the text, hexadecimal."""
        import hashlib  # noqa: PLC0415  (7 ms that only `compile` needs)

        return hashlib.sha256(self.text.encode()).hexdigest()


class PolicySet:
    """Rules of all files, and the env defaults that they share: compared, and cached by, identity."""

    def __init__(
        self,
        files: tuple[PolicyFile, ...] = (),
        rules: tuple[Rule, ...] = (),
        env: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.files = files
        self.rules = rules
        self.env = env

    @functools.cached_property
    def selection(self) -> Selection[Rule]:
        """The rules, for quick asking."""
        return Selection(self.rules)

    def matches(self) -> Iterator[Match]:
        return (rule.match for rule in self.rules)


def load_policies(paths: Sequence[str | Path]) -> PolicySet:
    """Read files and folders (every `*.yaml` and `*.yml` below them but `*_test.*`) as one policy set.

    Raises `DocumentError` with the findings of all files, or when a folder holds no policy.
    """
    files: dict[str, PolicyFile] = {}
    findings: list[Diagnostic] = []
    found: list[Path] = []
    for given in paths:
        try:
            found += policy_paths(given)
        except DocumentError as error:
            findings.extend(error.diagnostics)
    for path in found:
        try:
            if os.path.realpath(path) not in files:
                files[os.path.realpath(path)] = read_policy(parse(read_source(path)))
        except DocumentError as error:
            findings.extend(error.diagnostics)
    if findings:
        raise DocumentError(findings)
    return compose(files.values())


def policy_paths(given: str | Path) -> list[Path]:
    """The policy files that a path stands for. Raises `DocumentError` when a folder holds none."""
    if not os.fspath(given):
        raise DocumentError([Diagnostic(Location("--policy"), "no-policy", "the path is empty")])
    path = Path(given)
    if not path.is_dir():
        return [path]
    try:
        found = policies_below(path)
    except OSError as error:
        message = f"cannot be read: {reason_of(error)}"
        raise DocumentError(
            [Diagnostic(Location(str(error.filename or given)), "unreadable-file", message)]
        ) from error
    if not found:
        location = Location(str(given))
        raise DocumentError([Diagnostic(location, "no-policy", "the folder holds no policy file (`*.yaml`)")])
    return found


def compose(files: Iterable[PolicyFile]) -> PolicySet:
    """One set of several files. Raises `DocumentError` for an id, a name or a variable that two files give."""
    ordered = sorted(files, key=lambda f: (f.name, f.source))
    findings = list(clashes(ordered))
    if findings:
        raise DocumentError(findings)
    rules = sorted((rule for file in ordered for rule in file.rules), key=lambda r: r.rank)
    env = {name: value for file in ordered for name, value in file.env.items()}
    return PolicySet(tuple(ordered), tuple(rules), dict(sorted(env.items())))


def clashes(files: Sequence[PolicyFile]) -> Iterator[Diagnostic]:
    """Every id and every variable that two rules or two files give."""
    yield from _clashing_ids(files)
    yield from _clashing_env(files)


def _clashing_ids(files: Sequence[PolicyFile]) -> Iterator[Diagnostic]:
    first: dict[str, Rule] = {}
    for rule in (rule for file in files for rule in file.rules):
        if rule.id in first:
            help_ = f"the other is at {first[rule.id].location}"
            yield Diagnostic(
                _location(rule.location), "duplicate-id", f"two rules have the id `{rule.id}`", help_
            )
        first.setdefault(rule.id, rule)


def _clashing_env(files: Sequence[PolicyFile]) -> Iterator[Diagnostic]:
    first: dict[str, tuple[str, PolicyFile]] = {}
    for file in files:
        for name, value in file.env.items():
            known = first.setdefault(name, (value, file))
            if known[0] != value:
                message = f"two policies set `{name}` to different values"
                help_ = f"the other is at {known[1].env_locations[name]}"
                yield Diagnostic(file.env_locations[name], "conflicting-env", message, help_)


def _location(text: str) -> Location:
    path, line, column = text.rsplit(":", 2)
    return Location(path, int(line), int(column))


def read_policy(document: Document) -> PolicyFile:
    """Check one document against the schema and for meaning. Raises `DocumentError` with every finding."""
    check(document, "policy")
    file, findings = read_parts(document, range(len(document.data["rules"])))
    findings.extend(_clashing_ids([file]))
    if findings:
        raise DocumentError(findings)
    return file


def read_parts(document: Document, rules: Sequence[int]) -> tuple[PolicyFile, list[Diagnostic]]:
    """The policy of a document with these of its rules, and each of their mistakes of meaning.

    The other rules may be anything; all else must fit the schema.
    """
    data = document.data
    reader = MatchReader(document)
    read = [_rule(document, reader, i, data["rules"][i]) for i in rules]
    name = data["metadata"]["name"]
    file = PolicyFile(
        name=name,
        owner=data["metadata"].get("owner"),
        rules=tuple(read),
        env=data.get("env", {}),
        tests=tuple(policy_tests(document)),
        source=document.source.name,
        text=document.source.text,
        env_locations={name: document.locate(["env", name], key=True) for name in data.get("env", {})},
    )
    return file, [*reader.findings, *_switch_in_env(document, rules)]


def _rule(document: Document, reader: MatchReader, index: int, entry: Mapping[str, Any]) -> Rule:
    return rule_from_data(
        entry,
        reader.read(entry["match"], ["rules", index, "match"]),
        document.data["metadata"]["name"],
        str(document.locate(["rules", index])),
    )


def rule_from_data(entry: Mapping[str, Any], match: Match, policy: str, location: str) -> Rule:
    """A rule of checked data whose match has been read."""
    return Rule(
        id=entry["id"],
        match=match,
        runner=entry["runner"],
        enforce=entry.get("enforce", "prefer"),
        priority=entry.get("priority", 0),
        reason=entry.get("reason", ""),
        expires=entry.get("expires"),
        env=entry.get("env", {}),
        policy=policy,
        location=location,
        data=entry,
    )


def _switch_in_env(document: Document, rules: Sequence[int]) -> Iterator[Diagnostic]:
    """Variables that an `env:` block cannot set: the switch, which the decision sets last, and our own."""
    blocks: list[list[str | int]] = [["env"]]
    blocks.extend(["rules", i, "env"] for i in rules)
    for block in blocks:
        owner = document.data if len(block) == 1 else document.data["rules"][block[1]]
        for name in owner.get("env", {}):
            location = document.locate([*block, name], key=True)
            if same_variable(name, SWITCH):
                message = (
                    f"`{name}` does not belong in `env`: the decision sets it last and would override it"
                )
                help_ = "write a rule with `runner: v1` or `runner: v2`"
                yield Diagnostic(location, "switch-in-env", message, help_)
            elif name.startswith("RUNNERCTL_"):
                message = f"`{name}` does not belong in `env`: it is between `launch` and the guard"
                yield Diagnostic(location, "reserved-name", message)


def policy_tests(document: Document) -> Iterator[PolicyTest]:
    """The entries of `tests:` of a checked document, a policy or a test file."""
    for i, entry in enumerate(document.data.get("tests", [])):
        yield PolicyTest(
            name=entry.get("name", f"test {i + 1}"),
            given=entry["given"],
            expect=entry["expect"],
            location=str(document.locate(["tests", i])),
            entry=document.below(["tests", i]),
            today=entry.get("today"),
            assume=entry.get("assume"),
            strict_env=entry.get("strict_env", False),
        )
