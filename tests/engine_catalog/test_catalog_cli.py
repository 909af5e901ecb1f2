"""`runnerctl catalog list`, `show` and `diff`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from policy.decision.sides import crossings
from policy.engine import Catalog

Cli = Callable[..., Any]


def test_list_has_every_release(cli: Cli, catalog: Catalog) -> None:
    answer = cli("catalog", "list")
    assert answer.code == 0
    assert [line.split()[0] for line in answer.out.splitlines()[1:]] == list(catalog.releases)


def test_list_as_json(cli: Cli) -> None:
    rows = {row["release"]: row for row in cli("catalog", "list", "--format", "json").json["releases"]}
    assert rows["0.11.0"]["switch"] == "none"
    assert rows["0.22.0"]["default_v2_architectures"] == ["Qwen3ForCausalLM"]
    assert rows["0.28.0"]["deprecated"] == []
    assert rows["0.29.0"]["deprecated"] == ["v1"]
    assert rows["0.33.0"]["architectures"] > 400
    assert "every model" in rows["0.33.0"]["own_choice"]


def test_show(cli: Cli) -> None:
    answer = cli("catalog", "show", "0.24.0+cu129")
    assert answer.code == 0
    assert answer.out.startswith("vLLM 0.24.0\n")
    assert "DeepseekV2ForCausalLM" in answer.out
    assert "elastic expert parallelism  [parallel_config.enable_elastic_ep: true]" in answer.out


def test_show_as_json(cli: Cli) -> None:
    shown = cli("catalog", "show", "0.24.0", "--format", "json").json
    assert shown["release"] == "0.24.0"
    assert "LlamaForCausalLM" in shown["names"]["architectures"]


@pytest.mark.parametrize(
    ("release", "code", "message"),
    [
        ("0.99.0", 3, "newer than the catalog"),
        ("0.24.1.dev3+gabc", 3, "development version"),
        ("x", 2, "`x`"),
    ],
)
def test_unknown_releases(cli: Cli, release: str, code: int, message: str) -> None:
    for words in (("show", release), ("diff", "0.23.0", release)):
        answer = cli("catalog", *words)
        assert answer.code == code
        assert message in answer.err
        assert answer.out == ""


def test_diff_of_the_release_that_moved_every_model(cli: Cli) -> None:
    answer = cli("catalog", "diff", "0.28.0", "0.29.0")
    assert answer.code == 0
    assert "v1 is deprecated since 0.29.0" in answer.out
    assert "v1 -> v2  MoE, switch not set: any other architecture" in answer.out
    assert "v2 -> v1  dense, switch not set, on rocm only: DeepseekV32ForCausalLM" in answer.out


def test_diff_as_json(cli: Cli) -> None:
    found = cli("catalog", "diff", "0.21.0", "0.22.0", "--format", "json").json
    assert found["switch"] == ["off-by-default", "three-state"]
    assert found["default_v2_architectures"]["added"] == ["Qwen3ForCausalLM"]
    assert found["deployments"] == [
        {
            "shape": "dense",
            "switch": None,
            "platforms": ["cuda", "rocm"],
            "from": "v1",
            "to": "v2",
            "architectures": ["Qwen3ForCausalLM"],
        }
    ]


def test_diff_of_a_release_with_itself(cli: Cli) -> None:
    assert "nothing changed" in cli("catalog", "diff", "0.23.0", "0.23.0").out


def test_diff_back_is_the_reverse(catalog: Catalog) -> None:
    there = crossings(catalog.load("0.24.0"), catalog.load("0.27.0"))
    back = crossings(catalog.load("0.27.0"), catalog.load("0.24.0"))
    assert {(c.shape, c.switch, c.before, c.after, c.architectures) for c in there} == {
        (c.shape, c.switch, c.after, c.before, c.architectures) for c in back
    }
    assert there


def test_a_switch_that_does_not_exist_yet_does_not_refuse(catalog: Catalog) -> None:
    found = crossings(catalog.load("0.11.2"), catalog.load("0.12.0"))
    assert {(c.switch, c.before, c.after) for c in found} == {("1", "v1", "v2")}
