"""Policies of several files: composed, in no order, and refused where they contradict each other."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.decision import resolve
from policy.document import DocumentError, Source, parse
from policy.engine import Catalog
from policy.facts.facts import Facts
from policy.rules.policy_set import PolicySet, compose, load_policies, read_policy

HEAD = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: NAME, owner: team}\n"


def text(*rules: str, name: str = "fleet", env: str = "{}") -> str:
    body = "".join(f"- {rule}\n" for rule in rules)
    return HEAD.replace("NAME", name) + f"env: {env}\n" + (f"rules:\n{body}" if rules else "rules: []\n")


def write(folder: Path, files: dict[str, str]) -> list[Path]:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return [folder / name for name in files]


def a_rule(id_: str, runner: str = "v1", rest: str = "") -> str:
    return f"{{id: {id_}, match: {{}}, runner: {runner}{rest}}}"


def test_defaults_of_a_rule_and_of_a_file() -> None:
    file = read_policy(parse(Source("p.yaml", text(a_rule("a")))))
    (rule,) = file.rules
    assert (rule.enforce, rule.priority, rule.reason, rule.expires, rule.env) == ("prefer", 0, "", None, {})
    assert (rule.policy, rule.location, file.owner) == ("fleet", "p.yaml:6:3", "team")
    assert len(file.digest) == 64


def test_files_and_folders(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "one/a.yaml": text(a_rule("a"), name="a", env="{X: '1'}"),
            "one/deep/b.yml": text(a_rule("b", rest=", enforce: require"), name="b", env="{Y: '2', X: '1'}"),
            "one/a_test.yaml": "not: a policy\n",
            "one/README.md": "no",
            "c.yaml": text(a_rule("c", rest=", priority: 5"), name="c"),
        },
    )
    found = load_policies([tmp_path / "one", tmp_path / "c.yaml"])
    assert [rule.id for rule in found.rules] == ["b", "c", "a"]
    assert found.env == {"X": "1", "Y": "2"}
    assert [file.name for file in found.files] == ["a", "b", "c"]


def test_the_same_file_twice_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = write(tmp_path, {"a.yaml": text(a_rule("a"))})
    monkeypatch.chdir(tmp_path)
    assert len(load_policies([path, "a.yaml", tmp_path, "./a.yaml"]).files) == 1


REFUSED: dict[str, tuple[dict[str, str], list[str], list[str]]] = {
    "duplicate ids in one file": (
        {"a.yaml": text(a_rule("x"), a_rule("y"), a_rule("x", "v2"))},
        ["duplicate-id"],
        ["a.yaml:8:3", "a.yaml:6:3"],
    ),
    "duplicate ids in two files": (
        {"a.yaml": text(a_rule("x")), "b.yaml": text(a_rule("x"), name="other")},
        ["duplicate-id"],
        ["b.yaml:6:3", "a.yaml:6:3"],
    ),
    "conflicting env": (
        {"a.yaml": text(env="{X: '1'}"), "b.yaml": text(name="other", env="{X: '2'}")},
        ["conflicting-env"],
        ["a.yaml", "b.yaml", "`X`"],
    ),
    "switch in env": (
        {"a.yaml": text(env="{VLLM_USE_V2_MODEL_RUNNER: '1'}")},
        ["switch-in-env"],
        ["a.yaml:4:7", "`runner: v1` or `runner: v2`"],
    ),
    "switch in the env of a rule": (
        {"a.yaml": text(a_rule("x", rest=", env: {VLLM_USE_V2_MODEL_RUNNER: '1'}"))},
        ["switch-in-env"],
        ["a.yaml:6:40"],
    ),
    "every file's findings": (
        {"a.yaml": "a: [", "b.yaml": text("{id: x, match: {nope: 1}, runner: v1}"), "c.yaml": ""},
        ["yaml-syntax", "unknown-fact", "empty-file"],
        ["a.yaml:", "b.yaml:6:19", "c.yaml:1:1"],
    ),
    "meaning, all of it": (
        {
            "a.yaml": text(
                "{id: x, match: {nope: 1, vllm: 0.10}, runner: v1}",
                a_rule("x"),
                env="{VLLM_USE_V2_MODEL_RUNNER: '1'}",
            )
        },
        ["switch-in-env", "unknown-fact", "wrong-type", "duplicate-id"],
        [],
    ),
    "missing file": ({}, ["unreadable-file"], ["missing.yaml: cannot be read: no such file"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(tmp_path: Path, case: str) -> None:
    files, codes, parts = REFUSED[case]
    paths = write(tmp_path, files) or [tmp_path / "missing.yaml"]
    with pytest.raises(DocumentError) as caught:
        load_policies(paths)
    assert [d.code for d in caught.value.diagnostics] == codes
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    "files", [{}, {"README.md": "x"}, {"a_test.yaml": "x"}], ids=["empty", "other", "tests"]
)
def test_folder_without_policies(tmp_path: Path, files: dict[str, str]) -> None:
    write(tmp_path, files)
    with pytest.raises(DocumentError, match="holds no policy file"):
        load_policies([tmp_path])


def test_conflicting_env_has_a_place(tmp_path: Path) -> None:
    paths = write(tmp_path, {"a.yaml": text(env="{X: '1'}"), "b.yaml": text(name="b", env="{X: '2'}")})
    with pytest.raises(DocumentError) as caught:
        load_policies(paths)
    assert caught.value.diagnostics[0].location.line == 4


def test_folder_named_like_a_policy(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": text(a_rule("a")), "team.yaml/b.yaml": text(a_rule("b"), name="b")})
    assert len(load_policies([tmp_path]).rules) == 2


def test_empty_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a.yaml": text(a_rule("a"))})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DocumentError):
        load_policies([""])


FILES = [
    text(a_rule("a", "v2", ", priority: 3, env: {A: '1'}"), a_rule("b", "v1", ", priority: 2"), name="one"),
    text("{id: c, match: {platform: rocm}, runner: v1, enforce: require}", name="two", env="{P: '1'}"),
    text("{id: d, match: {labels.team: search}, runner: v2, enforce: require}", name="three", env="{Q: '1'}"),
    text("{id: e, match: {architectures: 'Llama*'}, runner: engine, priority: 9}", name="four"),
    text("{id: f, match: {labels.team: ads}, runner: v1, priority: 3}", name="five"),
]
READ = [read_policy(parse(Source(f"{i}.yaml", content))) for i, content in enumerate(FILES)]
DEPLOYMENTS: list[dict[str, Any]] = [
    {},
    {"platform": "rocm"},
    {"platform": "rocm", "labels": {"team": "search"}},
    {"labels": {"team": "ads"}},
    {"model_config": {"architectures": ["LlamaForCausalLM"]}},
    {"env": {"VLLM_USE_V2_MODEL_RUNNER": "0"}, "labels": {"team": "search"}},
    {"unknown": ["labels.team"]},
]


def decide(policies: PolicySet, catalog: Catalog, facts: dict[str, Any]) -> dict[str, Any]:
    engine = catalog.load("0.23.0")
    names = catalog.architecture_names("0.23.0")
    return resolve(policies, engine, Facts({"vllm": "0.23.0", **facts}), names=names).as_json()


def test_the_deployments_tell_rules_apart(catalog: Catalog) -> None:
    answers = [decide(compose(READ), catalog, facts) for facts in DEPLOYMENTS]
    assert [a["decided_by"]["rule"] if a["decided_by"] else a["status"] for a in answers] == [
        "a", "c", "c", "a", "e", "d", "undetermined",
    ]  # fmt: skip
    assert [a["status"] for a in answers] == ["ok", "ok", "error", "error", "ok", "ok", "undetermined"]


@settings(max_examples=30, deadline=None)
@given(st.permutations(READ), st.sampled_from(DEPLOYMENTS))
def test_order_of_files_never_changes_a_decision(files: list[Any], facts: dict[str, Any]) -> None:
    catalog = Catalog()
    assert decide(compose(files), catalog, facts) == decide(compose(READ), catalog, facts)


def test_order_of_rules_never_changes_a_decision(
    catalog: Catalog, policies: Callable[..., PolicySet]
) -> None:
    rules = [
        "{id: a, match: {}, runner: v2}",
        "{id: b, match: {platform: cuda}, runner: v1, priority: 1}",
        "{id: c, match: {labels.x: y}, runner: v1, enforce: require, env: {A: '1'}}",
    ]
    for facts in ({}, {"labels": {"x": "y"}}, {"platform": "rocm"}):
        answers = []
        for order in permutations(rules):
            answer = decide(policies(order), catalog, facts)
            answer["decided_by"].pop("location")
            answers.append(answer)
        assert all(answer == answers[0] for answer in answers)
