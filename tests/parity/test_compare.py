"""Verdicts on answers and speed, as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from policy.input_error import InputError
from runnerctl.parity.compare import Tolerances, compare_answers, compare_speed, spread_of

TOLERANCES = Tolerances(tie=0.1, logprob=0.02, speed=0.1)


def answer(tokens: str, logprobs: Sequence[float] = (), margins: Sequence[float] = ()) -> dict[str, Any]:
    numbers = [ord(letter) for letter in tokens]
    logs = list(logprobs) or [-1.0] * len(numbers)
    return {
        "tokens": numbers,
        "logprobs": logs,
        "margins": list(margins) or [1.0] * len(numbers),
        "cumulative_logprob": sum(logs),
    }


SAME = [answer("abc"), answer("de")]


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict", "words"),
    [
        (
            [SAME],
            [SAME],
            "same",
            "2 of 2 answers have the same tokens; log-probabilities differ by up to 0 nats",
        ),
        ([SAME, SAME], [SAME, SAME], "same", "2 of 2"),
        ([SAME], [[answer("abd"), answer("de")]], "different", "1 of 2 answers have the same tokens;"),
        (
            [[answer("abc", margins=[1, 1, 0.05])]],
            [[answer("abd", margins=[1, 1, 0.01])]],
            "same",
            "0 of 1 answers have the same tokens, 1 part at a tie (nearer than 0.1 nats)",
        ),
        # One of them was sure.
        ([[answer("ab", margins=[1, 0.05])]], [[answer("ac", margins=[1, 0.5])]], "different", "0 of 1"),
        ([[answer("a", [-1.0])]], [[answer("a", [-1.019])]], "same", "up to 0.019 nats a token"),
        ([[answer("a", [-1.0])]], [[answer("a", [-1.03])]], "different", "up to 0.03 nats a token"),
        # What follows a parting is another text: its log-probabilities are not compared.
        (
            [[answer("ab", [-1, -9], [1, 0.0])]],
            [[answer("ac", [-1, -1], [1, 0.0])]],
            "same",
            "differ by up to 0 nats",
        ),
        (
            [SAME, [answer("xbc"), answer("de")]],
            [SAME],
            "undetermined",
            "the first runner does not agree with",
        ),
        (
            [SAME],
            [SAME, [answer("xbc"), answer("de")]],
            "undetermined",
            "the second runner does not agree with",
        ),
        ([SAME, [answer("abc"), answer("dx", margins=[1, 0])]], [SAME], "undetermined", "first runner"),
    ],
)
def test_answers(ours: Any, theirs: Any, verdict: str, words: str) -> None:
    finding = compare_answers(ours, theirs, TOLERANCES)
    assert finding.verdict == verdict
    assert words in finding.why


def test_a_tie_inside_one_runner_is_no_disagreement() -> None:
    tied = [answer("abx", margins=[1, 1, 0.0])]
    finding = compare_answers([[answer("abc", margins=[1, 1, 0.0])], tied], [tied], TOLERANCES)
    assert finding.verdict == "same"


def test_where_answers_part_is_told() -> None:
    finding = compare_answers([[answer("abc"), answer("def")]], [[answer("abc"), answer("dxf")]], TOLERANCES)
    assert finding.detail["partings"] == [
        {"prompt": 1, "token": 1, "tokens": [ord("e"), ord("x")], "margin": 1.0}
    ]
    assert finding.detail["identical"] == 1


@pytest.mark.parametrize(
    ("ours", "theirs", "more_is_better", "verdict", "words"),
    [
        ((99, 100, 101), (104, 105, 106), True, "same", "5.0 % better"),
        ((99, 100, 101), (119, 120, 121), True, "different", "20.0 % better"),
        ((99, 100, 101), (79, 80, 81), True, "different", "20.0 % worse"),
        ((90, 100, 160), (119, 120, 121), True, "undetermined", "but the middle halves overlap"),
        # One measurement that is far out decides nothing.
        ((98, 99, 100, 101, 180), (118, 119, 120, 121, 122), True, "different", "20.0 % better"),
        ((9.9, 10, 10.1), (7.9, 8, 8.1), False, "different", "25.0 % better"),
        ((9.9, 10, 10.1), (11.9, 12, 12.1), False, "different", "16.7 % worse"),
    ],
)
def test_speed(
    ours: Sequence[float], theirs: Sequence[float], more_is_better: bool, verdict: str, words: str
) -> None:
    finding = compare_speed(
        "x", spread_of(ours), spread_of(theirs), TOLERANCES, more_is_better=more_is_better
    )
    assert finding.verdict == verdict
    assert words in finding.why


def test_one_measurement_tells_no_difference() -> None:
    finding = compare_speed("x", spread_of([10.0]), spread_of([20.0, 21.0]), TOLERANCES, more_is_better=True)
    assert finding.verdict == "undetermined"
    assert "measured only once" in finding.why


@pytest.mark.parametrize(
    ("values", "expected", "relative"),
    [
        ([2.0], (2.0, 2.0, 2.0, 2.0, 2.0), 0.0),
        ([3.0, 1.0, 2.0], (2.0, 1.0, 1.5, 2.5, 3.0), 1.0),
        ([1.0, 2.0], (1.5, 1.0, 1.25, 1.75, 2.0), 2 / 3),
    ],
)
def test_spread(values: list[float], expected: tuple[float, ...], relative: float) -> None:
    found = spread_of(values)
    assert (found.median, found.low, found.lower, found.upper, found.high) == expected
    assert found.count == len(values)
    assert math.isclose(found.relative, relative)


@pytest.mark.parametrize("name", ["tie", "logprob", "speed"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_a_tolerance_under_which_nothing_could_be_told(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"for {name}: it is a number from 0"):
        Tolerances(**{name: value})
