"""What is changed in a policy: every operator, range end and value, and how they are combined."""

from __future__ import annotations

from typing import Any

import pytest
from packaging.specifiers import SpecifierSet

from policy.document import Source, parse
from policy.mutation.conditions import match_changes
from policy.mutation.releases import changed_specifiers
from policy.mutation.rules import policy_changes

# A specifier and those that it is changed into; `<0.25` is not among those of `<0.25.dev0`: it means the same.
SPECIFIERS = {
    ">=0.22.dev0": [">0.22.dev0", "<0.22.dev0", ">=0.21.dev0", ">=0.23.dev0", ">=0.22"],
    "<0.25.dev0": ["<=0.25.dev0", ">=0.25.dev0", "<0.24.dev0", "<0.26.dev0"],
    ">=0.23,<0.25": [
        ">0.23,<0.25",
        "<0.23,<0.25",
        ">=0.22,<0.25",
        ">=0.24,<0.25",
        ">=0.23.dev0,<0.25",
        "<0.25",
        ">=0.23,<=0.25",
        ">=0.23,>=0.25",
        ">=0.23,<0.24",
        ">=0.23,<0.26",
        ">=0.23",
    ],
    "0.23.0": ["!=0.23.0", ">=0.23.0", "<=0.23.0", "==0.23.1", "==0.23.0.dev0"],
    "==0.23.*": ["!=0.23.*", "==0.22.*", "==0.24.*"],
    "~=0.23.1": [">=0.23.1", "==0.23.1", "~=0.23.0", "~=0.23.2", "~=0.23.1.dev0"],
    "!=0.0": ["==0.0", "!=0.1", "!=0.0.dev0"],
    "===0.23.0": ["!=0.23.0", "===0.23.1", "===0.23.0.dev0"],
}


@pytest.mark.parametrize("text", SPECIFIERS)
def test_specifier(text: str) -> None:
    assert list(changed_specifiers(text)) == SPECIFIERS[text]


@pytest.mark.parametrize("text", [t for t in SPECIFIERS if "===" not in t and t[0] in "<>=!~"])
def test_changed_specifiers_differ_over_some_version(text: str) -> None:
    """By brute force over every kind of version around the ends."""
    bases = [
        "0.0",
        "0.1",
        *(f"0.{minor}" for minor in range(20, 28)),
        *(f"0.23.{patch}" for patch in range(4)),
    ]
    kinds = ("", ".dev0", ".dev1", "a1", "rc1", ".post1", "+cu129")
    versions = [base + kind for base in bases for kind in kinds]

    def holding(specifier: str) -> list[bool]:
        contained = SpecifierSet(specifier)
        return [contained.contains(version, prereleases=True) for version in versions]

    for changed in changed_specifiers(text):
        assert holding(changed) != holding(text), changed


# A match, and each value of it that the changes give, in order.
MATCHES: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "a boolean": (
        {"model_config.is_moe": True},
        [{}, {"not": {"model_config.is_moe": True}}, {"model_config.is_moe": False}],
    ),
    "a name": (
        {"architectures": "A"},
        [{}, {"not": {"architectures": "A"}}, {"architectures": "A-other"}],
    ),
    "a list": (
        {"architectures": ["A", "B"]},
        [
            {},
            {"not": {"architectures": ["A", "B"]}},
            {"architectures": ["B"]},
            {"architectures": ["A"]},
            {"architectures": ["A-other", "B"]},
            {"architectures": ["A", "B-other"]},
        ],
    ),
    "a list of one": ({"model": ["m"]}, [{}, {"not": {"model": ["m"]}}, {"model": ["m-other"]}]),
    "an enumeration": (
        {"model_config.runner_type": "generate"},
        [
            {},
            {"not": {"model_config.runner_type": "generate"}},
            {"model_config.runner_type": "draft"},
            {"model_config.runner_type": "pooling"},
        ],
    ),
    "a glob": (
        {"architectures": "A*?B"},
        [
            {},
            {"not": {"architectures": "A*?B"}},
            {"architectures": "A?B"},
            {"architectures": "A*B"},
            {"architectures": "*?-other"},
            {"architectures": "*"},
        ],
    ),
    "numbers": (
        {"cache_config.block_size": {"ge": 2, "lt": 8}},
        [
            {},
            {"not": {"cache_config.block_size": {"ge": 2, "lt": 8}}},
            {"cache_config.block_size": {"lt": 8}},
            {"cache_config.block_size": {"ge": 2}},
            {"cache_config.block_size": {"lt": 8, "gt": 2}},
            {"cache_config.block_size": {"ge": 1, "lt": 8}},
            {"cache_config.block_size": {"ge": 3, "lt": 8}},
            {"cache_config.block_size": {"ge": 2, "le": 8}},
            {"cache_config.block_size": {"ge": 2, "gt": 8}},
            {"cache_config.block_size": {"ge": 2, "lt": 7}},
            {"cache_config.block_size": {"ge": 2, "lt": 9}},
        ],
    ),
    "a number": (
        {"cache_config.block_size": 16},
        [
            {},
            {"not": {"cache_config.block_size": 16}},
            {"cache_config.block_size": 15},
            {"cache_config.block_size": 17},
        ],
    ),
    "what is on": (
        {"packages.x": {"exists": True}},
        [
            {},
            {"not": {"packages.x": {"exists": True}}},
            {"packages.x-other": {"exists": True}},
            {"packages.x": {"exists": False}},
        ],
    ),
    "another value": (
        {"model": {"ne": "m"}},
        [{}, {"not": {"model": {"ne": "m"}}}, {"model": "m"}, {"model": {"ne": "m-other"}}],
    ),
    "any": (
        {"any": [{"model": "a"}, {"model": "b"}]},
        [
            {},
            {"all": [{"model": "a"}, {"model": "b"}]},
            {"any": [{"model": "b"}]},
            {"any": [{"model": "a"}]},
            {"any": [{}, {"model": "b"}]},
            {"any": [{"not": {"model": "a"}}, {"model": "b"}]},
            {"any": [{"model": "a-other"}, {"model": "b"}]},
            {"any": [{"model": "a"}, {}]},
            {"any": [{"model": "a"}, {"not": {"model": "b"}}]},
            {"any": [{"model": "a"}, {"model": "b-other"}]},
        ],
    ),
    "all of one": (
        {"all": [{"model": "a"}]},
        [{}, {"all": [{}]}, {"all": [{"not": {"model": "a"}}]}, {"all": [{"model": "a-other"}]}],
    ),
    "not": (
        {"not": {"model": "a"}},
        [
            {},
            {"all": [{"model": "a"}]},
            {"not": {}},
            {"not": {"not": {"model": "a"}}},
            {"not": {"model": "a-other"}},
        ],
    ),
}


@pytest.mark.parametrize("case", MATCHES)
def test_match(case: str) -> None:
    match, wanted = MATCHES[case]
    assert [change.value for change in match_changes(match)] == wanted


@pytest.mark.parametrize("value", ["hush", ["hush", "hus*"], {"ne": "hush"}], ids=str)
def test_what_is_said_of_a_secret(value: Any) -> None:
    changes = list(match_changes({"env.HF_TOKEN": value}))
    assert len(changes) > 3
    assert not [change.said for change in changes if "hus" in change.said]


HEAD = "{apiVersion: runnerctl/v1, kind: RunnerPolicy, metadata: {name: p}, "

# What follows HEAD, and what is said of each change, with its path.
POLICIES = {
    "a rule": (
        "rules: [{id: a, match: {}, runner: v1}]}",
        [
            "rules.0: rule `a` is taken away",
            "rules.0.runner: `v1` becomes `v2`",
            "rules.0.runner: `v1` becomes `engine`",
            "rules.0.enforce: it becomes a `require`",
        ],
    ),
    "a require": (
        "rules: [{id: a, match: {}, runner: engine, enforce: require, priority: 3}]}",
        [
            "rules.0: rule `a` is taken away",
            "rules.0.runner: `engine` becomes `v1`",
            "rules.0.runner: `engine` becomes `v2`",
            "rules.0.enforce: it becomes a `prefer`",
        ],
    ),
    "variables": (
        "env: {A: b}, rules: []}",
        ["env.A: it is taken away", "env.A: it gets another value"],
    ),
}


@pytest.mark.parametrize("case", POLICIES)
def test_policy(case: str) -> None:
    text, wanted = POLICIES[case]
    found = policy_changes(parse(Source("p.yaml", HEAD + text)).data)
    assert [f"{'.'.join(map(str, change.path))}: {change.said}" for change in found] == wanted


# The priority of a rule, those of the others, and what it is changed into: one for each order that they can have.
PRIORITIES = [
    (10, [], []),
    (10, [0], [0, -1]),
    (1, [0, 2], [0, -1, 2, 3]),
    (0, [0], [-1, 1]),
    (5, [1, 9], [1, 0, 9, 10]),
]


@pytest.mark.parametrize(("own", "others", "wanted"), PRIORITIES)
def test_priorities(own: int, others: list[int], wanted: list[int]) -> None:
    rules = ", ".join(
        f"{{id: r{i}, match: {{}}, runner: v1, priority: {p}}}" for i, p in enumerate([own, *others])
    )
    data = parse(Source("p.yaml", HEAD + f"rules: [{rules}]}}")).data
    changed = [
        c.value["rules"][0]["priority"] for c in policy_changes(data) if c.path == ("rules", 0, "priority")
    ]
    assert changed == wanted


def test_review_days_and_variables_of_a_rule() -> None:
    data = parse(
        Source("p.yaml", HEAD + "rules: [{id: a, match: {}, runner: v1, expires: 2028-02-29, env: {A: b}}]}")
    ).data
    rules = [c.value["rules"][0] for c in policy_changes(data) if c.path[2:3] in (("expires",), ("env",))]
    assert [(rule.get("expires"), rule["env"]) for rule in rules] == [
        (None, {"A": "b"}),
        ("2028-02-28", {"A": "b"}),
        ("2028-03-01", {"A": "b"}),
        ("2028-02-29", {}),
        ("2028-02-29", {"A": "b-other"}),
    ]
