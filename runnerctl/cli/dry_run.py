"""What `launch --dry-run` prints: what would run, set and unset, with the values of secrets hidden."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from policy.secret import shown
from runnerctl.cli.formats import DryRunFormat
from runnerctl.launch.plan import Plan

__all__ = ["dry_run_text"]


def dry_run_text(plan: Plan, format_: DryRunFormat) -> str:
    """The plan in one of four formats."""
    variables = {name: shown(name, value) for name, value in plan.changes.items()}
    if format_ is DryRunFormat.json:
        return json.dumps(_as_json(plan, variables), indent=2) + "\n"
    # A hidden value must not be read back in the place of the real one.
    hidden = [
        f"# {name} is set to a value that is not shown"
        for name, value in variables.items()
        if "****" in value
    ]
    plain = {name: value for name, value in variables.items() if "****" not in value}
    note = "# the launch writes the compiled policy that RUNNERCTL_COMPILED_POLICY names; this only shows it"
    if format_ is DryRunFormat.dotenv:
        lines = [note, *hidden, *(f"# unset {name}" for name in plan.removed)]
        return "\n".join([*lines, *(f"{name}={_quoted(value)}" for name, value in plain.items())]) + "\n"
    if format_ is DryRunFormat.shell:
        lines = [note, *hidden, *(f"unset {name}" for name in plan.removed)]
        lines += [f"export {name}={shlex.quote(value)}" for name, value in plain.items()]
        return "\n".join([*lines, "exec " + shlex.join(_shown_words(plan.argv))]) + "\n"
    rows = [("would run", shlex.join(_shown_words(plan.argv)))]
    rows += [("set", f"{name}={value}") for name, value in variables.items()]
    rows += [("unset", name) for name in plan.removed]
    return "".join(f"{label.ljust(10)}  {text}\n" for label, text in rows)


def _as_json(plan: Plan, variables: dict[str, str]) -> dict[str, object]:
    return {
        "argv": _shown_words(plan.argv),
        "set": variables,
        "unset": plan.removed,
        "deferred": plan.deferred,
        "decision": None if plan.deferred else plan.decision.as_json(),
    }


def _shown_words(argv: Sequence[str]) -> list[str]:
    """The words of a command; the value of an option that looks like a secret (`--api-key`) is hidden."""
    words: list[str] = []
    option = ""
    for word in argv:
        if not word.startswith("-"):
            words.append(_shown_option(option, word) if option.startswith("--") else word)
            continue
        option, equals, value = word.partition("=")
        words.append(f"{option}={_shown_option(option, value)}" if equals else word)
    return words


def _shown_option(option: str, value: str) -> str:
    return shown(option.lstrip("-").replace("-", "_"), value)


def _quoted(value: str) -> str:
    """A value as dotenv files write it: bare where it is plain, else in single quotes."""
    plain = all(c.isalnum() or c in "_-./:,@%+=" for c in value)
    return value if plain else "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
