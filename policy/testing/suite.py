"""Suites: policies, and the tests that are run against them, from policy files and `*_test.yaml` files.

What a test is run against never depends on what else is named on the command line: the tests of a policy are about
that file alone, and those of a test file about the policies that it names, or that stand beside it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from policy.document.diagnostic import Diagnostic, DocumentError
from policy.document.schema import check
from policy.document.source import Document, parse, read_source
from policy.rules.files import SUFFIXES, tests_of
from policy.rules.policy_set import (
    PolicyFile,
    PolicySet,
    PolicyTest,
    compose,
    policy_paths,
    policy_tests,
    read_policy,
)

__all__ = ["Suite", "load_suites"]

TEST_KIND = "RunnerPolicyTest"


@dataclass(frozen=True, slots=True)
class Suite:
    """The tests of the file `source`, and the policies that they are about, used together."""

    source: str
    policies: PolicySet
    tests: tuple[PolicyTest, ...]


def load_suites(paths: Sequence[str | Path], *, together: bool = False) -> list[Suite]:
    """The suites of files and folders, in the order of their paths, each file once.

    A folder stands for every policy and every test file below it; a policy file also for the test file beside it that
    bears its name. A suite may have no tests. With `together` every test is run against all of the policies at once.
    Raises `DocumentError` with the findings of all files.
    """
    loading = _Loading()
    for path in paths:
        loading.add(path)
    suites = loading.suites()
    if loading.findings:
        raise DocumentError(loading.findings)
    if together:
        everything = compose({id(f): f for s in suites for f in s.policies.files}.values())
        suites = [replace(suite, policies=everything) for suite in suites]
    return suites


class _Loading:
    """Reads each file once, whatever names it, and collects what is wrong."""

    def __init__(self) -> None:
        self.findings: dict[Diagnostic, None] = {}
        self._documents: dict[str, Document | None] = {}
        self._policies: dict[str, PolicyFile | None] = {}
        self._named: dict[str, Path] = {}

    def add(self, given: str | Path) -> None:
        for path in self._expanded(given):
            self._named.setdefault(os.path.realpath(path), path)

    def suites(self) -> list[Suite]:
        found = [self._suite(path) for path in self._named.values()]
        return [suite for suite in found if suite is not None]

    def _expanded(self, given: str | Path) -> Iterator[Path]:
        path = Path(given)
        if os.fspath(given) and not path.is_dir():
            yield path
            yield from tests_of(path)
            return
        try:
            tests = tests_of(path) if os.fspath(given) else []
        except OSError:
            tests = []  # the folder cannot be read, and `policy_paths` says so
        yield from self._policy_paths(given, tests)
        yield from tests

    def _policy_paths(self, given: str | Path, tests: Sequence[Path]) -> Iterator[Path]:
        try:
            yield from policy_paths(given)
        except DocumentError as error:
            if not tests:  # a folder of tests alone is fine: they name their policies
                self._find(error)

    def _suite(self, path: Path) -> Suite | None:
        document = self._document(path)
        if document is None:
            return None
        if _is_test_file(path, document):
            return self._test_file(path, document)
        file = self._policy(path)
        return None if file is None else Suite(str(path), compose([file]), file.tests)

    def _test_file(self, path: Path, document: Document) -> Suite | None:
        try:
            check(document, "policy-test")
        except DocumentError as error:
            self._find(error)
            return None
        before = len(self.findings)
        files = {id(file): file for file in self._tested(path, document) if file is not None}
        if len(self.findings) > before:
            return None
        try:
            policies = compose(files.values())
        except DocumentError as error:
            self._find(error)
            return None
        return Suite(str(path), policies, tuple(policy_tests(document)))

    def _tested(self, path: Path, document: Document) -> Iterator[PolicyFile | None]:
        """The policies of a test file: those that it names, its namesake, or all of its folder."""
        named = document.data.get("policies")
        if named is None:
            yield from map(self._policy, self._beside(path))
            return
        for i, entry in enumerate(named):
            target = _joined(path, entry)
            if not target.exists():
                location = document.locate(["policies", i])
                message = f"`{entry}` is not there; paths are relative to this file"
                self.findings[Diagnostic(location, "no-policy", message)] = None
                continue
            yield from map(self._policy, self._folder(target))

    def _beside(self, path: Path) -> Iterator[Path]:
        stem = path.stem.removesuffix("_test")
        namesake = next(
            (p for suffix in SUFFIXES if (p := path.with_name(stem + suffix)) != path and p.is_file()), None
        )
        if namesake is not None:
            yield namesake
        else:
            yield from self._folder(path.parent)

    def _folder(self, target: Path) -> Iterator[Path]:
        try:
            yield from policy_paths(target)
        except DocumentError as error:
            self._find(error)

    def _policy(self, path: Path) -> PolicyFile | None:
        real = os.path.realpath(path)
        if real not in self._policies:
            self._policies[real] = None
            document = self._document(path)
            try:
                self._policies[real] = None if document is None else read_policy(document)
            except DocumentError as error:
                self._find(error)
        return self._policies[real]

    def _document(self, path: Path) -> Document | None:
        real = os.path.realpath(path)
        if real not in self._documents:
            self._documents[real] = None
            try:
                self._documents[real] = parse(read_source(path))
            except DocumentError as error:
                self._find(error)
        return self._documents[real]

    def _find(self, error: DocumentError) -> None:
        self.findings.update(dict.fromkeys(error.diagnostics))


def _is_test_file(path: Path, document: Document) -> bool:
    """By its kind; by its name where the kind is wrong, so that the message is about what was meant."""
    data = document.data
    kind = data.get("kind") if isinstance(data, Mapping) else None
    return kind == TEST_KIND or path.stem.endswith("_test")


def _joined(path: Path, entry: str) -> Path:
    """A path that a test file names, as the user would write it."""
    return Path(os.path.normpath(path.parent / entry))
