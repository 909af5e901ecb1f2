"""`resolve --batch`: one decision a line, in order, memory flat in the number of lines."""

from __future__ import annotations

import json
import sys
from datetime import date
from typing import Any

from policy.decision import Decision, Failure
from policy.decision.resolver import Resolver
from policy.engine import Catalog
from policy.input_error import InputError
from policy.memory import remember
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
    resolver = Resolver(policies, catalog, assume=assume, strict_env=strict_env, today=date.today())
    batch = _Batch(resolver, vllm)
    seen: set[ExitCode] = set()
    for line in read_lines(name):
        code, answer = batch.answer(line)
        seen.add(code)
        sys.stdout.write(answer)
    if not seen:
        raise UsageError(f"{name}: nothing to resolve: no line")
    return next(c for c in (ExitCode.INVALID, ExitCode.NO, ExitCode.UNDETERMINED, ExitCode.OK) if c in seen)


class _Batch:
    """Answers lines; deployments with the same decision share its text."""

    def __init__(self, resolver: Resolver, vllm: str | None) -> None:
        self._resolver = resolver
        self._vllm = vllm
        self._texts: dict[int, tuple[Decision, str]] = {}

    def answer(self, line: Line) -> tuple[ExitCode, str]:
        """The exit code for a line, and its answer as a line of JSON."""
        try:
            if line.facts is None:
                return ExitCode.INVALID, _text(line.id, _tail(_bad(line.problem)))
            facts = line.facts if "vllm" in line.facts else {**line.facts, "vllm": self._vllm}
            decision = self._resolver.decide(facts)
        except InputError as error:  # a release that is no version
            return ExitCode.INVALID, _text(line.id, _tail(_bad(f"line {line.number}: {error}")))
        known = self._texts.get(id(decision))
        if known is None:
            # The decision is kept with it, so that no other gets its id.
            known = remember(self._texts, id(decision), (decision, _tail(decision)))
        return exit_code_of(decision.status), _text(line.id, known[1])


def _bad(problem: str | None) -> Decision:
    return Decision("error", None, errors=(Failure("invalid-line", problem or ""),))


def _tail(decision: Decision) -> str:
    return json.dumps(decision.as_json())[1:]


def _text(id_: Any, tail: str) -> str:
    shown = str(id_) if id_.__class__ is int else json.dumps(id_)
    return f'{{"id": {shown}, {tail}\n'
