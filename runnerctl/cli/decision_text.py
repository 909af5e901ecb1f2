"""A decision as the text that an on-call person reads first: runner, who decided, why, what is set, what was overridden."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from policy.decision.decision import DecidedBy, Decision

if TYPE_CHECKING:
    from policy.decision.explain import LookedAt

__all__ = ["decision_text", "explanation_text"]


def decision_text(decision: Decision) -> str:
    """The decision in lines, each with its label first; secrets are hidden."""
    rows = list(_rows(decision.shown()))
    width = max(len(label) for label, _ in rows)
    return "".join(f"{label.ljust(width)}  {text}".rstrip() + "\n" for label, text in rows)


def _rows(decision: Decision) -> Iterator[tuple[str, str]]:
    release = f"vLLM {decision.vllm}" if decision.vllm else "unknown release"
    yield "runner", f"{decision.runner or 'none'} ({release}, {decision.status})"
    if decision.decided_by:
        yield from _who(decision.decided_by)
    for name, value in decision.env_set.items():
        yield "set", f"{name}={value}"
    for name in decision.env_unset:
        yield "unset", name
    for override in decision.overrides:
        new = "taken away" if override.replaced_by is None else f"now {override.replaced_by!r}"
        yield (
            "overridden",
            f"{override.name}={override.value!r} from {override.source}, {new} by {override.by}",
        )
    for warning in decision.warnings:
        yield "warning", warning
    for failure in decision.errors:
        yield "missing" if failure.code == "missing-facts" else "error", f"{failure.message} [{failure.code}]"


def _who(by: DecidedBy) -> Iterator[tuple[str, str]]:
    if by.layer == "policy":
        yield "decided by", f"rule {by.rule} ({by.enforce}) of policy {by.policy}, {by.location}"
    elif by.layer == "environment":
        yield "decided by", "the operator's switch"
    else:
        yield "decided by", f"vLLM itself ({by.rule})"
    if by.reason:
        yield "why", by.reason
    for cause in by.because:
        if cause != by.reason:
            yield "because", cause


def explanation_text(looked: Sequence[LookedAt]) -> str:
    """Every rule that was looked at: `+` matched, `-` did not, `?` open."""
    signs = {True: "+", False: "-", None: "?"}
    lines = ["rules looked at:"]
    for item in looked:
        where = f" ({item.location})" if item.location else ""
        lines.append(f"  {signs[item.matched]} {item.layer} {item.rule}: {item.wish}{where}: {item.why}")
    return "\n".join(lines) + "\n"
