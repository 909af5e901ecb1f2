"""One cell of the matrix: the runner of a plain checkpoint of one architecture in one release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import product
from typing import Any, Literal

from policy.decision import Decision, resolve
from policy.engine.release import EngineRelease
from policy.facts.facts import Facts
from policy.facts.fields import field
from policy.rules.policy_set import PolicySet

__all__ = ["ABSENT", "DRAFT", "LEGEND", "Answer", "Case", "Cell", "decide_cell"]

Answer = Literal["v1", "v2", "refused", "undetermined", "draft", "not registered"]
LABELS = {"not registered": "-", "undetermined": "?"}
LEGEND: Mapping[str, str] = {
    "v1": "Model Runner V1",
    "v2": "Model Runner V2",
    "v1/v2": "depends on the checkpoint",
    "refused": "the release or the policy refuses to start",
    "?": "undetermined: a fact is missing",
    "draft": "only drafts for another model, whose runner counts",
    "-": "not registered in this release",
}
# Facts that a cell takes apart at most: each doubles the cases.
MOST = 3


@dataclass(frozen=True, slots=True)
class Case:
    """What the answer is where the facts that matter have these values."""

    given: tuple[tuple[str, Any], ...]
    answer: Answer
    why: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One case, or several with different answers. `needs` are facts that nobody gave and no case covers."""

    cases: tuple[Case, ...]
    needs: tuple[str, ...] = ()

    @property
    def answers(self) -> tuple[Answer, ...]:
        return tuple(sorted({case.answer for case in self.cases}, key=_rank))

    @property
    def label(self) -> str:
        """Such as `v1`, `v1/v2`, `refused`; `-` where the release does not register the architecture."""
        return "/".join(LABELS.get(answer, answer) for answer in self.answers)

    @property
    def note(self) -> str:
        """Why the label is not simply a runner; empty where it is."""
        if self.needs:
            return "depends on " + ", ".join(f"`{path}`" for path in self.needs)
        if len(self.answers) > 1:
            return "; ".join(f"{LABELS.get(a, a)} {self._where(a)}" for a in self.answers)
        return self.cases[0].why

    def _where(self, answer: Answer) -> str:
        cases = [case for case in self.cases if case.answer == answer]
        whys = dict.fromkeys(case.why for case in cases if case.why)
        why = f" ({'; '.join(whys)})" if whys else ""
        if len(self.cases) > 2 and answer == self._most:
            return f"otherwise{why}"
        said = " or ".join(
            " and ".join(f"`{path}` is {_said(value)}" for path, value in case.given) for case in cases
        )
        return f"where {said}{why}"

    @property
    def _most(self) -> Answer:
        """The answer of most cases: the others are easier to list."""
        answers = [case.answer for case in self.cases]
        return max(self.answers, key=answers.count)

    def as_json(self) -> dict[str, Any]:
        return {
            "answers": list(self.answers),
            "cases": [{"given": dict(c.given), "answer": c.answer, "why": c.why} for c in self.cases],
            "needs": list(self.needs),
        }


ABSENT = Cell((Case((), "not registered"),))
DRAFT = Cell((Case((), "draft"),))


def decide_cell(
    policies: PolicySet, engine: EngineRelease, document: Mapping[str, Any], today: date | None
) -> Cell:
    """The cell of one facts document, its release in it; facts of the checkpoint that matter are taken apart."""
    facts = Facts(document)
    decision = resolve(policies, engine, facts, today=today)
    if decision.status != "undetermined":
        return Cell((_case((), decision),))
    return _taken_apart(policies, engine, facts, decision.missing_facts, today)


def _taken_apart(
    policies: PolicySet, engine: EngineRelease, facts: Facts, paths: Sequence[str], today: date | None
) -> Cell:
    choices = [list(_values(path)) for path in paths]
    if not all(choices) or len(paths) > MOST:
        return Cell(
            (Case((), "undetermined"),), tuple(p for p, c in zip(paths, choices, strict=True) if not c)
        )
    cases, needs = [], dict[str, None]()
    for values in product(*choices):
        given = tuple(zip(paths, values, strict=True))
        asked = facts
        for path, value in given:
            asked = asked.replace(path, value)
        decision = resolve(policies, engine, asked, today=today)
        needs.update(dict.fromkeys(decision.missing_facts))
        cases.append(_case(given, decision))
    return Cell(tuple(cases), tuple(needs))


def _values(path: str) -> Iterator[Any]:
    """The values of a fact of the checkpoint; none where there is no short list of them."""
    known = field(path)
    if known is None or not path.startswith("model_config."):
        return
    if path == "model_config.runner_type":
        yield from ("generate", "pooling")
    elif known.types == ("boolean",):
        yield from (False, True)


def _case(given: tuple[tuple[str, Any], ...], decision: Decision) -> Case:
    if decision.status == "ok" and decision.runner:
        return Case(given, decision.runner)
    if decision.status == "undetermined":
        return Case(given, "undetermined")
    features = [feature for error in decision.errors for feature in error.features]
    messages = [error.message for error in decision.errors if not error.features]
    return Case(given, "refused", "; ".join((*features, *messages)))


def _rank(answer: Answer) -> int:
    return ("v1", "v2", "refused", "undetermined", "draft", "not registered").index(answer)


def _said(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
