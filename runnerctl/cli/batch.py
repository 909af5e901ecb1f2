"""`resolve --batch`: one decision a line, in order, memory flat in the number of lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import IO, Any

from policy.decision import Decision, Failure
from policy.decision import resolve as decide
from policy.document.schema import check
from policy.document.source import Document
from policy.engine import Catalog, EngineRelease
from policy.facts.facts import Facts, check_unknown, nest
from policy.input_error import InputError
from policy.rules.policy_set import PolicySet
from runnerctl.cli.exits import ExitCode, UsageError, exit_code_of

__all__ = ["run_batch"]


class LineError(InputError):
    """A line that asks nothing that can be answered."""


def run_batch(
    name: str,
    policies: PolicySet,
    catalog: Catalog,
    vllm: str | None,
    assume: str | None,
    *,
    strict_env: bool,
) -> ExitCode:
    """Answer every line of the file `name` (`-` is standard input). Raises `UsageError` when there is none.

    The exit code is that of the worst line: a bad line, then an error, then an undetermined decision.
    """
    batch = _Batch(policies, catalog, vllm, assume, strict_env=strict_env)
    seen: set[ExitCode] = set()
    with _lines(name) as stream:
        for code, answer in batch.answers(stream):
            seen.add(code)
            sys.stdout.write(json.dumps(answer) + "\n")
    if not seen:
        raise UsageError(f"{name}: nothing to resolve: no line")
    return next(c for c in (ExitCode.INVALID, ExitCode.NO, ExitCode.UNDETERMINED, ExitCode.OK) if c in seen)


def _lines(name: str) -> IO[bytes]:
    if name == "-":
        return sys.stdin.buffer
    try:
        return open(name, "rb")  # noqa: PTH123  (the caller closes it)
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {(error.strerror or str(error)).lower()}") from error


class _Batch:
    def __init__(
        self, policies: PolicySet, catalog: Catalog, vllm: str | None, assume: str | None, *, strict_env: bool
    ) -> None:
        self.policies = policies
        self.catalog = catalog
        self.vllm = vllm
        self.assume = assume
        self.strict_env = strict_env
        self.today = date.today()
        self.engines: dict[str | None, tuple[Any, tuple[str, ...]]] = {}

    def answers(self, lines: Iterable[bytes]) -> Iterator[tuple[ExitCode, dict[str, Any]]]:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield self.answer(line, number)

    def answer(self, line: bytes, number: int) -> tuple[ExitCode, dict[str, Any]]:
        identifier: Any = None
        try:
            entry = _entry(line)
            identifier = entry.get("id")
            _check_fields(entry)
            decision = self.decide(entry)
            code = exit_code_of(decision.status)
        except InputError as error:
            message = f"line {number}: " + "; ".join(str(error).splitlines())
            decision = Decision("error", None, errors=(Failure("invalid-line", message),))
            code = ExitCode.INVALID
        return code, {"id": identifier, **decision.as_json()}

    def decide(self, entry: dict[str, Any]) -> Decision:
        facts = entry.get("facts", {})
        if not isinstance(facts, dict):
            raise LineError("`facts` is not a mapping")
        if any("." in key or key == "architectures" for key in facts):
            facts = nest(facts)
        document = Document.unmarked("facts", facts)
        check(document, "facts")
        check_unknown(document)
        version = entry.get("vllm", facts.get("vllm", self.vllm))
        if version is not None and not isinstance(version, str):
            raise LineError(f"`vllm` is {json.dumps(version)}, not a string; quote it")
        engine, names = self.engine(version)
        return decide(
            self.policies,
            engine,
            Facts({**facts, "vllm": version}),
            names=names,
            strict_env=self.strict_env,
            today=self.today,
        )

    def engine(self, version: str | None) -> tuple[Any, tuple[str, ...]]:
        if version not in self.engines:
            engine = None if version is None else self.catalog.find(version, self.assume)
            names: tuple[str, ...] = ()
            if self.policies.rules and isinstance(engine, EngineRelease):
                names = self.catalog.architecture_names(engine.release)
            self.engines[version] = (engine, names)
        return self.engines[version]


def _entry(line: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LineError(f"not JSON: {str(error).lower()}") from error
    if not isinstance(entry, dict):
        raise LineError("not a JSON object")
    return entry


def _check_fields(entry: Mapping[str, Any]) -> None:
    unknown = set(entry) - {"id", "vllm", "facts"}
    if unknown:
        raise LineError(f"unknown field `{min(unknown)}`; a line is {{id, vllm, facts}}")
