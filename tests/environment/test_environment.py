"""The merge of the environment: the order of the layers, the forced switch last, every loss on record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.environment import LAYERS, merge_layers, same_variable
from policy.facts.fields import SWITCH

OPERATOR = LAYERS[:-1]


def merge(env: Mapping[str, str], forced: str | None = "0", *, unset: bool = False) -> Mapping[str, str]:
    return merge_layers([("process environment", env)], forced=forced, unset=unset, by="rule a").variables


def ours(env: Mapping[str, str]) -> Mapping[str, str]:
    return merge(env)


def of_pull_request_43458(env: Mapping[str, str]) -> Mapping[str, str]:
    """`force_v1_runner` as it first was: whatever `env` holds wins over the force."""
    return {"VLLM_USE_V2_MODEL_RUNNER": "0", **env}


BAKED = [{}, {SWITCH: "0"}, {SWITCH: "1"}, {SWITCH: ""}, {SWITCH: "true", "A": "b"}]


def forces_v1(merge_: Callable[[Mapping[str, str]], Mapping[str, str]], env: Mapping[str, str]) -> bool:
    """The assertion: V1 is what vLLM will read, and everything else is as it was."""
    result = merge_(env)
    rest = {n: v for n, v in result.items() if n != SWITCH}
    return result[SWITCH] == "0" and rest == {n: v for n, v in env.items() if n != SWITCH}


@pytest.mark.parametrize("env", BAKED)
def test_force_wins_over_what_is_baked_in(env: dict[str, str]) -> None:
    assert forces_v1(ours, env)


def test_the_same_assertion_finds_the_bug_of_pull_request_43458() -> None:
    assert [forces_v1(of_pull_request_43458, env) for env in BAKED] == [True, True, False, False, False]


@pytest.mark.parametrize(("weak", "strong"), list(combinations(OPERATOR, 2)))
def test_each_layer_wins_over_the_ones_before(weak: str, strong: str) -> None:
    layers = [(name, {"A": name} if name in (weak, strong) else {}) for name in OPERATOR]
    result = merge_layers(layers, forced=None, unset=False, by="")
    assert result.variables == {"A": strong}
    assert result.sources == {"A": strong}
    assert [o.as_json() for o in result.overrides] == [
        {"name": "A", "value": weak, "source": weak, "replaced_by": strong, "by": strong}
    ]


def test_order_of_the_layers() -> None:
    assert LAYERS == ("policy env", "process environment", "--env-file", "--env", "rule env", "forced switch")


@pytest.mark.parametrize("layer", OPERATOR)
@pytest.mark.parametrize("value", ["0", "1", "", "true", " 0"])
def test_forced_switch_wins_over_every_layer(layer: str, value: str) -> None:
    result = merge_layers(
        [(n, {SWITCH: value} if n == layer else {}) for n in OPERATOR], forced="0", unset=False, by="rule a"
    )
    assert result.variables == {SWITCH: "0"}
    assert result.sources == {SWITCH: "forced switch"}
    recorded = [(o.value, o.source, o.replaced_by, o.by) for o in result.overrides]
    assert recorded == ([] if value == "0" else [(value, layer, "0", "rule a")])


SPELLINGS = [
    SWITCH,
    SWITCH.lower(),
    "Vllm_Use_V2_Model_Runner",
    f" {SWITCH}",
    f"{SWITCH} ",
    f"\t{SWITCH.lower()}\n",
]


@pytest.mark.parametrize("name", SPELLINGS)
def test_no_spelling_survives(name: str) -> None:
    assert same_variable(name, SWITCH)
    assert merge({name: "1", "A": "b"}) == {SWITCH: "0", "A": "b"}
    assert merge({name: "1", "A": "b"}, None, unset=True) == {"A": "b"}


@pytest.mark.parametrize("name", ["VLLM_USE_V2_MODEL_RUNNERS", "VLLM_USE_V1", "XVLLM_USE_V2_MODEL_RUNNER"])
def test_other_variables_stay(name: str) -> None:
    assert merge({name: "1"}) == {name: "1", SWITCH: "0"}


def test_deleted_not_blanked() -> None:
    for env in BAKED:
        assert SWITCH not in merge(env, None, unset=True)
    layers = [("process environment", {SWITCH: "1"}), ("--env", {SWITCH: "0"})]
    result = merge_layers(layers, forced=None, unset=True, by="rule a")
    assert result.variables == {}
    assert [(o.value, o.source, o.replaced_by) for o in result.overrides] == [
        ("1", "process environment", None),
        ("0", "--env", None),
    ]


def test_left_alone_where_nothing_is_forced() -> None:
    assert merge({SWITCH: "1"}, None) == {SWITCH: "1"}


def test_every_loser_is_listed() -> None:
    layers = [
        ("policy env", {"A": "1"}),
        ("process environment", {"A": "2"}),
        ("--env", {"A": "3"}),
        ("rule env", {"A": "3"}),
    ]
    result = merge_layers(layers, forced="1", unset=False, by="rule a")
    assert [(o.value, o.source, o.replaced_by, o.by) for o in result.overrides] == [
        ("1", "policy env", "2", "process environment"),
        ("2", "process environment", "3", "--env"),
    ]


VARIABLES = st.dictionaries(st.sampled_from(["A", "B", *SPELLINGS]), st.sampled_from(["", "0", "1", "x"]))


@given(st.lists(VARIABLES, min_size=5, max_size=5), st.sampled_from(["0", "1", None]))
def test_what_no_merge_may_do(values: list[dict[str, str]], forced: str | None) -> None:
    layers = list(zip(OPERATOR, values, strict=True))
    result = merge_layers(layers, forced=forced, unset=forced is None, by="rule a")
    switches = {n: v for n, v in result.variables.items() if same_variable(n, SWITCH)}
    assert switches == ({} if forced is None else {SWITCH: forced})
    for name in ("A", "B"):
        given_ = [layer[name] for layer in values if name in layer]
        assert result.variables.get(name) == (given_[-1] if given_ else None)
        lost = [o.value for o in result.overrides if o.name == name]
        assert len(lost) == sum(1 for one, two in pairwise(given_) if one != two)
