"""The switch is last whatever the environment holds, reaches every child, and what was there comes back."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.environment import same_variable
from runnerctl.testing import force_runner, forced_runner, guarded_environment, ray_runtime_env
from runnerctl.testing.force import ForceError

SWITCH = "VLLM_USE_V2_MODEL_RUNNER"
SPELLINGS = [SWITCH, SWITCH.lower(), f" {SWITCH}", f"{SWITCH} ", "Vllm_Use_V2_Model_Runner"]


@pytest.mark.parametrize(("runner", "value"), [("v1", "0"), ("v2", "1")])
@pytest.mark.parametrize(
    ("env", "overridden"),
    [
        pytest.param({}, [], id="empty"),
        pytest.param({"PATH": "/bin"}, [], id="not-set"),
        pytest.param({SWITCH: "7", "PATH": "/bin"}, [(SWITCH, "7")], id="other-value-first"),
        pytest.param({"PATH": "/bin", SWITCH: ""}, [(SWITCH, "")], id="blank-last"),
        pytest.param({SWITCH.lower(): "7"}, [(SWITCH.lower(), "7")], id="other-case"),
        pytest.param({f"{SWITCH} ": "7"}, [(f"{SWITCH} ", "7")], id="blank-behind"),
        pytest.param({SWITCH: "7", SWITCH.lower(): "8"}, [(SWITCH, "7"), (SWITCH.lower(), "8")], id="two"),
    ],
)
def test_the_force_is_last(
    runner: str, value: str, env: dict[str, str], overridden: list[tuple[str, str]]
) -> None:
    before = dict(env)
    forced = force_runner(runner, env)
    assert list(forced.items())[-1] == (SWITCH, value)
    assert [name for name in forced if same_variable(name, SWITCH)] == [SWITCH]
    assert [(o.name, o.value) for o in forced.overrides] == overridden
    assert {o.replaced_by for o in forced.overrides} <= {value}
    assert env == before


def test_the_same_value_is_not_an_override() -> None:
    assert force_runner("v1", {SWITCH: "0"}).overrides == ()


def test_each_layer_is_named_in_the_report() -> None:
    layers = [("image", {SWITCH: "1", "A": "1"}), ("operator", {SWITCH: "2", "API_KEY": "x"})]
    assert force_runner("v1", layers).report.splitlines() == [
        f"{SWITCH}=1 from image overridden by force_runner('v1')",
        f"{SWITCH}=2 from operator overridden by force_runner('v1')",
    ]


@given(st.dictionaries(st.sampled_from([*SPELLINGS, "A", "B"]), st.text(max_size=3)))
def test_nothing_in_an_environment_survives_the_force(env: dict[str, str]) -> None:
    forced = force_runner("v1", env)
    assert {n: v for n, v in forced.items() if same_variable(n, SWITCH)} == {SWITCH: "0"}
    assert {n: v for n, v in forced.items() if n in "AB"} == {n: v for n, v in env.items() if n in "AB"}


@pytest.mark.parametrize(
    ("runner", "env", "message"),
    [
        ("v3", {}, "`v3` is no model runner; the runners are v1 and v2"),
        ("generate", {}, "`generate` is no model runner; the runners are v1 and v2"),
        ("v1", {"A": 1}, "env: `A` is int; a variable is text"),
    ],
)
def test_what_cannot_be_forced_is_said(runner: str, env: Mapping[str, str], message: str) -> None:
    with pytest.raises(ForceError, match=message):
        force_runner(runner, env)


@pytest.mark.parametrize(
    "before",
    [{}, {SWITCH: "1"}, {SWITCH: ""}, {SWITCH.lower(): "1"}, {SWITCH: "1", f"{SWITCH} ": "0", "A": "b"}],
    ids=["absent", "set", "blank", "other-case", "two-spellings"],
)
@pytest.mark.parametrize("inside", [None, "changes", "deletes", "raises"])
def test_what_was_there_comes_back(before: dict[str, str], inside: str | None) -> None:
    environ = dict(before)
    try:
        with forced_runner("v1", environ):
            assert {n: v for n, v in environ.items() if same_variable(n, SWITCH)} == {SWITCH: "0"}
            if inside == "changes":
                environ[SWITCH] = environ[SWITCH.title()] = "9"
            elif inside == "deletes":
                del environ[SWITCH]
            elif inside == "raises":
                raise KeyError(inside)
    except KeyError:
        assert inside == "raises"
    assert environ == before


def test_forces_nest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "7")
    with forced_runner("v1"):
        with forced_runner("v2"):
            assert os.environ[SWITCH] == "1"
        assert os.environ[SWITCH] == "0"
    assert os.environ[SWITCH] == "7"


def read_switch() -> str | None:
    return os.environ.get(SWITCH)


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_multiprocessing_children_get_it(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "1")
    with forced_runner("v1"), multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply(read_switch) == "0"


@pytest.mark.parametrize("how", ["inherited", "given"])
def test_subprocesses_get_it(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "1")
    program = [sys.executable, "-c", f"import os; print(os.environ['{SWITCH}'])"]
    if how == "inherited":
        with forced_runner("v1"):
            said = subprocess.check_output(program, text=True)
    else:
        said = subprocess.check_output(program, text=True, env=force_runner("v1", os.environ))
    assert said == "0\n"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, {"env_vars": {SWITCH: "1"}}),
        ({"pip": ["x"]}, {"pip": ["x"], "env_vars": {SWITCH: "1"}}),
        ({"env_vars": {SWITCH: "0", "A": "b"}}, {"env_vars": {"A": "b", SWITCH: "1"}}),
        ({"env_vars": {SWITCH.lower(): "0"}}, {"env_vars": {SWITCH: "1"}}),
        ({"env_vars": None}, {"env_vars": {SWITCH: "1"}}),
    ],
)
def test_rays_runtime_env(given: dict[str, object] | None, wanted: dict[str, object]) -> None:
    before = repr(given)
    assert ray_runtime_env("v2", given) == wanted
    assert repr(given) == before


def test_a_guard_that_would_undo_it_is_named(tmp_path: Path) -> None:
    environ = dict(guarded_environment("v1", {"PATH": "/bin", SWITCH: "1"}, str(tmp_path), release="0.23.0"))
    with pytest.raises(ForceError, match="stands under a compiled policy, and its guard will decide"):
        forced_runner("v2", environ).__enter__()


def test_a_guarded_environment_is_what_a_launch_would_set(tmp_path: Path) -> None:
    env = {SWITCH: "1", "VLLM_PLUGINS": "ours", "RUNNERCTL_VERDICT": "an outer launch's"}
    forced = guarded_environment("v1", env, tmp_path / "run", release="0.23.0")
    assert list(forced.items())[-1] == (SWITCH, "0")
    assert forced["VLLM_PLUGINS"] == "ours,runnerctl"
    assert forced["VLLM_RAY_EXTRA_ENV_VAR_PREFIXES_TO_COPY"] == "RUNNERCTL_"
    assert "RUNNERCTL_VERDICT" not in forced
    assert Path(forced["RUNNERCTL_COMPILED_POLICY"]).parent == tmp_path / "run"
    assert Path(forced["RUNNERCTL_COMPILED_POLICY"]).is_file()


def test_layers_may_come_from_a_generator() -> None:
    assert dict(force_runner("v1", (layer for layer in [("a", {"A": "1"})])))["A"] == "1"


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (None, "give one mapping"),
        ("A=1", "give one mapping"),
        ([{"A": "1"}], "give one mapping"),
        ([("a", None)], "a: NoneType is no mapping"),
    ],
)
def test_what_is_no_environment(env: Any, message: str) -> None:
    with pytest.raises(ForceError, match=message):
        force_runner("v1", env)
