"""What `launch --dry-run` prints: what would run, set and unset, with the values of secrets hidden."""

from __future__ import annotations

import json
import shlex

from runnerctl.cli.formats import DryRunFormat
from runnerctl.launch.layers import masked
from runnerctl.launch.plan import Plan

__all__ = ["dry_run_text"]


def dry_run_text(plan: Plan, format_: DryRunFormat) -> str:
    """The plan in one of four formats."""
    shown = {name: masked(name, value) for name, value in plan.changes.items()}
    if format_ is DryRunFormat.json:
        return json.dumps(_as_json(plan, shown), indent=2) + "\n"
    if format_ is DryRunFormat.dotenv:
        return "".join(f"{name}={_quoted(value)}\n" for name, value in shown.items())
    if format_ is DryRunFormat.shell:
        lines = [f"unset {name}" for name in plan.removed]
        lines += [f"export {name}={shlex.quote(value)}" for name, value in shown.items()]
        return "\n".join([*lines, "exec " + shlex.join(plan.argv)]) + "\n"
    rows = [("would run", shlex.join(plan.argv))]
    rows += [("set", f"{name}={value}") for name, value in shown.items()]
    rows += [("unset", name) for name in plan.removed]
    return "".join(f"{label.ljust(10)}  {text}\n" for label, text in rows)


def _as_json(plan: Plan, shown: dict[str, str]) -> dict[str, object]:
    decision = plan.decision.as_json()
    for override in decision["overrides"]:
        for key in ("value", "replaced_by"):
            if override[key] is not None:
                override[key] = masked(override["name"], override[key])
    decision["env"]["set"] = {n: masked(n, v) for n, v in decision["env"]["set"].items()}
    return {
        "argv": list(plan.argv),
        "set": shown,
        "unset": plan.removed,
        "deferred": plan.deferred,
        "decision": None if plan.deferred else decision,
    }


def _quoted(value: str) -> str:
    """A value as dotenv files write it: bare where it is plain, else in single quotes."""
    plain = all(c.isalnum() or c in "_-./:,@%+=" for c in value)
    return value if plain else "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
