"""`resolve --batch`: one decision a line, in order, memory flat in the number of lines."""

from __future__ import annotations

import json
import sys
from datetime import date
from typing import Any

from policy.decision import Decision, Failure
from policy.decision import resolve as decide
from policy.engine import Catalog, EngineRelease
from policy.facts.facts import Facts
from policy.input_error import InputError
from policy.rules.policy_set import PolicySet
from runnerctl.cli.exits import ExitCode, UsageError, exit_code_of
from runnerctl.cli.lines import Line, read_lines

__all__ = ["run_batch"]


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
    for line in read_lines(name):
        code, answer = batch.answer(line)
        seen.add(code)
        sys.stdout.write(json.dumps(answer) + "\n")
    if not seen:
        raise UsageError(f"{name}: nothing to resolve: no line")
    return next(c for c in (ExitCode.INVALID, ExitCode.NO, ExitCode.UNDETERMINED, ExitCode.OK) if c in seen)


class _Batch:
    """Answers lines; finds each release once."""

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

    def answer(self, line: Line) -> tuple[ExitCode, dict[str, Any]]:
        try:
            decision = self.bad(line.problem) if line.facts is None else self.decide(line.facts)
            code = ExitCode.INVALID if line.facts is None else exit_code_of(decision.status)
        except InputError as error:  # a release that is no version
            decision, code = self.bad(f"line {line.number}: {error}"), ExitCode.INVALID
        return code, {"id": line.id, **decision.as_json()}

    def bad(self, problem: str | None) -> Decision:
        return Decision("error", None, errors=(Failure("invalid-line", problem or ""),))

    def decide(self, facts: dict[str, Any]) -> Decision:
        version = facts.get("vllm", self.vllm)
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
