"""Compares what two runners answered and how fast they were, with stated tolerances. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median, quantiles
from typing import Any, Literal

from policy.input_error import InputError

__all__ = ["Finding", "Spread", "Tolerances", "Verdict", "compare_answers", "compare_speed", "spread_of"]

Verdict = Literal["same", "different", "undetermined"]


class ToleranceError(InputError):
    """A tolerance under which nothing could differ, or nothing be the same."""


@dataclass(frozen=True, slots=True)
class Tolerances:
    """`tie` and `logprob` are in nats: two candidates for a token nearer than `tie` are a tie, which rounding may
    break either way; `logprob` is the mean difference a token. `speed` is a share of the first runner's."""

    tie: float = 0.1
    logprob: float = 0.02
    speed: float = 0.10

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not (math.isfinite(value) and value >= 0):
                raise ToleranceError(f"a tolerance of {value} for {name}: it is a number from 0")

    def as_json(self) -> dict[str, float]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """One comparison: its verdict and the sentence that says why."""

    what: str
    verdict: Verdict
    why: str
    detail: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        return {"what": self.what, "verdict": self.verdict, "why": self.why, "detail": dict(self.detail)}


@dataclass(frozen=True, slots=True)
class Spread:
    """Several measurements of one thing: `low` to `high` are all of them, `lower` to `upper` the middle half."""

    median: float
    low: float
    lower: float
    upper: float
    high: float
    count: int

    @property
    def relative(self) -> float:
        return (self.high - self.low) / self.median if self.median else 0.0

    def as_json(self) -> dict[str, float]:
        return {**asdict(self), "relative": self.relative}


def spread_of(values: Iterable[float]) -> Spread:
    """The spread of at least one value."""
    found = sorted(values)
    lower, _, upper = quantiles(found, method="inclusive") if len(found) > 1 else found * 3
    return Spread(median(found), found[0], lower, upper, found[-1], len(found))


Answer = Mapping[str, Any]


def compare_answers(
    ours: Sequence[Sequence[Answer]], theirs: Sequence[Sequence[Answer]], tolerances: Tolerances
) -> Finding:
    """Greedy tokens and log-probabilities. Each side has the answers of every engine that it was started with.

    A side that does not agree with itself cannot be told from another: that is `undetermined`.
    """
    wavering = [
        f"{name} runner does not agree with itself"
        for name, side in (("the first", ours), ("the second", theirs))
        if any(_parted(a, b, tolerances) for other in side[1:] for a, b in zip(side[0], other, strict=True))
    ]
    pairs = list(zip(ours[0], theirs[0], strict=True))
    partings = [p for n, (a, b) in enumerate(pairs) if (p := _parting(n, a, b)) is not None]
    serious = [p for p in partings if p["margin"] > tolerances.tie]
    drifts = [_drift(a, b) for a, b in pairs]
    drift = max(drifts)
    detail = {
        "prompts": len(pairs),
        "identical": len(pairs) - len(partings),
        "ties": len(partings) - len(serious),
        "partings": partings,
        "largest_logprob_difference": drift,
        "cumulative_logprobs": [[a["cumulative_logprob"], b["cumulative_logprob"]] for a, b in pairs],
    }
    told = f"{len(pairs) - len(partings)} of {len(pairs)} answers have the same tokens"
    if len(partings) > len(serious):
        told += f", {len(partings) - len(serious)} part at a tie (nearer than {tolerances.tie:g} nats)"
    told += f"; log-probabilities differ by up to {drift:.2g} nats a token"
    if wavering:
        return Finding("answers", "undetermined", f"{told}; {'; '.join(wavering)}", detail)
    same = not serious and drift <= tolerances.logprob
    return Finding("answers", "same" if same else "different", told, detail)


def _parted(ours: Answer, theirs: Answer, tolerances: Tolerances) -> bool:
    found = _parting(0, ours, theirs)
    return found is not None and found["margin"] > tolerances.tie


def _parting(prompt: int, ours: Answer, theirs: Answer) -> dict[str, Any] | None:
    """Where two answers to one prompt part, and how sure each runner was there: the surer one counts."""
    for at, (a, b) in enumerate(zip(ours["tokens"], theirs["tokens"], strict=True)):
        if a != b:
            margin = max(ours["margins"][at], theirs["margins"][at])
            return {"prompt": prompt, "token": at, "tokens": [a, b], "margin": margin}
    return None


def _drift(ours: Answer, theirs: Answer) -> float:
    """The mean difference of log-probabilities a token, over the tokens that both have in common."""
    common = _parting(0, ours, theirs)
    end = len(ours["tokens"]) if common is None else common["token"]
    if not end:
        return 0.0
    pairs = zip(ours["logprobs"][:end], theirs["logprobs"][:end], strict=True)
    return float(sum(abs(a - b) for a, b in pairs)) / end


def compare_speed(
    what: str, ours: Spread, theirs: Spread, tolerances: Tolerances, *, more_is_better: bool
) -> Finding:
    """One quantity. More than the tolerance is `different` only where the middle halves are apart."""
    ratio = theirs.median / ours.median
    gain = ratio if more_is_better else 1 / ratio
    apart = theirs.lower > ours.upper or theirs.upper < ours.lower
    detail = {"ratio": ratio, "gain": gain, "apart": apart}
    told = f"{_percent(gain)}, {ours.median:.4g} to {theirs.median:.4g}"
    if abs(gain - 1) <= tolerances.speed:
        return Finding(what, "same", told, detail)
    if ours.count < 2 or theirs.count < 2:
        return Finding(what, "undetermined", f"{told}, but measured only once", detail)
    if not apart:
        return Finding(what, "undetermined", f"{told}, but the middle halves overlap", detail)
    return Finding(what, "different", told, detail)


def _percent(gain: float) -> str:
    share = (gain - 1) * 100
    return f"{abs(share):.1f} % {'better' if share >= 0 else 'worse'}"
