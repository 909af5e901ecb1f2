"""Differences of two policy sets as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from policy.analysis import Difference, Differences
from policy.decision.decision import Decision
from policy.secret import shown_facts

__all__ = ["differences_json", "differences_text"]


def differences_text(found: Differences) -> str:
    """Each difference with the deployment that shows it, in the form that `resolve --facts -` reads."""
    count = len(found.found)
    lines = [f"{_counted(count)} another decision\n" if count else "no difference\n"]
    for difference in found.found:
        lines += ("\n", *(line + "\n" for line in _lines(difference)))
    for names in found.alike:
        rules = " and ".join(f"`{name}`" for name in names)
        lines.append(f"\nno deployment is decided otherwise by the change of {rules}\n")
    return "".join(lines)


def _counted(count: int) -> str:
    return "1 kind of deployment gets" if count == 1 else f"{count} kinds of deployments get"


def _lines(difference: Difference) -> Iterator[str]:
    yield f"{_rule(difference.old_by)} -> {_rule(difference.new_by)}"
    yield f"  was    {_decision(difference.old)}"
    yield f"  now    {_decision(difference.new)}"
    assume = difference.witness.assume
    yield f"  facts  {json.dumps(shown_facts(difference.witness.document))}" + (
        f"  (--assume {assume})" if assume else ""
    )


def _rule(name: str | None) -> str:
    return "no rule" if name is None else f"`{name}`"


def _decision(decision: Decision) -> str:
    """One line: runner or error, what is set, and who decided where it is no rule."""
    shown = decision.shown()
    parts = [shown.runner or "; ".join(f"{error.code}: {error.message}" for error in shown.errors)]
    parts += (f"{name}={value}" for name, value in shown.env_set.items())
    parts += (f"without {name}" for name in shown.env_unset)
    by = shown.decided_by
    if by is not None and by.layer != "policy":
        parts.append("by the operator's switch" if by.layer == "environment" else "by vLLM itself")
    return ", ".join(parts)


def _witness(difference: Difference) -> dict[str, Any]:
    witness = difference.witness
    return witness._replace(document=shown_facts(witness.document)).as_json()


def differences_json(found: Differences) -> dict[str, Any]:
    """The document of `schemas/diff.schema.json`."""
    return {
        "differences": [
            {
                "old_by": difference.old_by,
                "new_by": difference.new_by,
                **_witness(difference),
                "old": difference.old.as_json(),
                "new": difference.new.as_json(),
            }
            for difference in found.found
        ],
        "alike": [list(names) for names in found.alike],
        "cut": [{"what": cut.what, "why": cut.why, "rules": list(cut.rules)} for cut in found.cut],
    }
