"""An upgrade as the text that the on-call person reads: counts, then every deployment that changes, then rules."""

from __future__ import annotations

from collections.abc import Iterator

from policy.decision.decision import Decision
from policy.engine.release import RUNNERS
from policy.upgrade.change import Change
from policy.upgrade.tally import Tally

__all__ = ["change_text", "invalid_text", "is_told", "plain", "said", "tally_text", "who"]

WIDTH = len("unsatisfiable")
_TITLES = {
    "error": "starts to fail",
    "fixed": "newly possible",
    "undetermined": "undetermined",
    "same": "same",
}


def plain(text: str) -> str:
    """Text that cannot steer a terminal: control characters are written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def is_told(change: Change) -> bool:
    """Whether there is anything to say of a deployment beside the counts."""
    return change.kind != "same" or change.keep is not None or bool(change.pins) or change.fails_in_both


def change_text(change: Change) -> str:
    """One deployment: a title, then labelled lines."""
    title = f"flips {change.direction}" if change.direction else _TITLES[change.kind]
    if change.fails_in_both:
        title = "fails in both"
    rows = list(_rows(change))
    lines = [f"{plain(change.name)}: {title}"]
    lines.extend(f"  {label.ljust(WIDTH)}  {plain(text)}" for label, text in rows)
    return "\n".join(lines) + "\n"


def _rows(change: Change) -> Iterator[tuple[str, str]]:
    yield "before", said(change.before)
    yield "after", said(change.after)
    for decision in (change.before, change.after):
        for cause in decision.decided_by.because if decision.decided_by else ():
            yield "accident", f"vLLM {decision.vllm}: {cause}"
    for runner in RUNNERS:
        if (features := change.features.get(runner)) is None:
            continue
        for feature in features.supported:
            yield "gains", f"{runner} supports {feature}"
        for feature in features.unsupported:
            yield "loses", f"{runner} does not support {feature}"
    if change.kind in ("error", "undetermined") and change.abilities[1]:
        able = [r for r in RUNNERS if change.abilities[1].get(r)]
        yield (
            "possible",
            f"after, with {' or '.join(able)}" if able else "after, with neither runner for certain",
        )
    if change.keep:
        rule = change.keep.rule
        yield (
            "pin",
            f"rule {rule['id']} (below) keeps {change.keep.runner}"
            if rule
            else f"{change.keep.runner}: {change.keep.why}",
        )
    for pin in change.pins:
        yield pin.state, f"rule {pin.rule} ({pin.location}, {pin.enforce} {pin.runner}): {pin.message}"
    for note in change.notes:
        yield "note", note


def said(decision: Decision) -> str:
    """A decision in one line."""
    if decision.status == "ok":
        return f"{decision.runner}, {who(decision)}"
    reasons = "; ".join(failure.message for failure in decision.errors)
    return f"{'fails' if decision.status == 'error' else 'undetermined'}: {reasons}"


def who(decision: Decision) -> str:
    """Who decided, and why."""
    by = decision.decided_by
    if by is None:
        return "nobody"
    if by.layer == "policy":
        return f"rule {by.rule} ({by.location}, {by.enforce})"
    return f"vLLM itself ({by.reason})" if by.layer == "engine" else by.reason


def invalid_text(name: str, message: str) -> str:
    return f"{plain(name)}: invalid\n  {'error'.ljust(WIDTH)}  {plain(message)}\n"


def tally_text(tally: Tally) -> str:
    """The rules that rot, and the rules that would keep the runner of before."""
    lines: list[str] = []
    if tally.rotting:
        lines.append(f"rules of the policy that rot in vLLM {tally.after}:")
        for pin, count in tally.rotting:
            seen = f", {count} deployment{'' if count == 1 else 's'}" if count else ""
            lines.append(f"  {pin.state.ljust(WIDTH)}  {pin.rule} ({pin.location}{seen}): {pin.message}")
    if tally.keeps:
        lines.append("rules that would keep the runner:")
        for keep in tally.keeps.values():
            lines.extend(f"  {line}" for line in (keep.yaml or "").splitlines())
    return "".join(line + "\n" for line in lines)
