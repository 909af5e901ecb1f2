"""Which of V1's methods a V2 runner may borrow, and what is said of those that it may not."""

from __future__ import annotations

from typing import Any

import pytest

from runnerctl.testing import ForwardRefused, forward_to_v1
from tests.testing.runners import V1, v2


@pytest.mark.parametrize(
    ("method", "args", "borrowed"),
    [
        ("uses_model", ("p",), ()),
        ("uses_configs", (), ()),
        ("through_helpers", (3,), ("_inner", "helper", "plain")),
        ("reads_with_a_default", (), ()),
        ("reads_the_same_type", (), ()),
        ("writes_model", (), ()),
        ("lent", (7,), ()),
    ],
)
def test_what_is_there_and_means_the_same_is_borrowed(
    method: str, args: tuple[Any, ...], borrowed: tuple[str, ...]
) -> None:
    runner = v2()
    verdict = forward_to_v1(runner, method, v1=V1)
    assert verdict.problems == ()
    assert (verdict.by, verdict.borrowed) == ("v1", borrowed)
    result = verdict.call(*args)
    expected = {
        "uses_model": runner.model,
        "uses_configs": (runner.load_config, runner.model_config, "cpu", 4),
        "through_helpers": (runner.model, 5),
        "reads_with_a_default": None,
        "reads_the_same_type": runner.loader,
        "writes_model": None,
        "lent": (runner.model, 7),
    }
    assert result == expected[method]
    assert runner.model.loaded == (["p"] if method == "uses_model" else [])


@pytest.mark.parametrize(
    ("method", "problems"),
    [
        ("reads_missing", ["it reads `only_v1`, which V2 does not have"]),
        (
            "through_a_bad_helper",
            ["it reads `only_v1`, which V2 does not have (through `bad_helper`)"],
        ),
        (
            "reads_another_type",
            ["it reads `input_batch`, which V1 makes by `[1]`, and V2 has a dict there"],
        ),
        (
            "reads_what_begins_alike",
            ["it reads `requests`, which begins as `{}` in both, and what goes in is not told"],
        ),
        ("reads_another_constant", ["it reads `OTHER`, which V1's class gives as 5, and V2's does not"]),
        ("reads_another_property", ["it reads `name`, which is another property under V2"]),
        (
            "calls_another_signature",
            [
                "it calls `differs(self, x: 'int') -> 'int'`, "
                "which is `differs(self, x: 'int', y: 'int') -> 'int'` under V2"
            ],
        ),
        ("writes_missing", ["it writes `only_v1`, which V2 does not have: nobody there would read it"]),
        ("writes_another", ["it writes `counter`, which V1 makes by `0`, and V2 has a list there"]),
        (
            "by_name",
            [
                "it writes an attribute that `name` names only when it runs",
                "it reads an attribute that `name` names only when it runs",
            ],
        ),
        ("hands_itself_on", ["it hands `self` itself on"]),
        ("calls_super", ["it calls `super()`"]),
        ("inside_a_function", ["it reads `only_v1`, which V2 does not have"]),
        ("unreadable", ["the source of `sleep` cannot be read"]),
        ("nothing", ["neither V1 of V1 nor the runner has a method `nothing`"]),
    ],
)
def test_what_does_not_fit_is_refused_by_name(method: str, problems: list[str]) -> None:
    runner = v2()
    before = dict(vars(runner))
    verdict = forward_to_v1(runner, method, v1=V1)
    assert list(verdict.problems) == problems
    assert not verdict.safe
    with pytest.raises(ForwardRefused) as caught:
        verdict.call()
    assert all(problem in str(caught.value) for problem in problems)
    assert vars(runner) == before


def test_a_method_of_the_runners_own_is_its_own() -> None:
    verdict = forward_to_v1(v2(), "own", v1=V1)
    assert (verdict.safe, verdict.reads) == (True, ())
    assert verdict.call() == "v2"


def test_a_runner_of_somebody_elses_needs_its_v1_class_named() -> None:
    with pytest.raises(ForwardRefused, match=r"V2 is no V2 runner of vLLM's; name its V1 class"):
        forward_to_v1(v2(), "uses_model")
