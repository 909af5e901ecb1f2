"""The frozenset and the artifact: what enters, equal bytes, and files that changed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from policy.compiled.architectures import default_v2_architectures
from policy.compiled.artifact import ArtifactError, compile_policy, load_artifact, to_text, write_atomically
from policy.decision import resolve
from policy.document.schema import load_schema
from policy.engine import Catalog
from policy.facts.facts import Facts, nest
from policy.rules.policy_set import PolicySet

LLAMA, MISTRAL, QWEN3 = "LlamaForCausalLM", "MistralForCausalLM", "Qwen3ForCausalLM"
OWN = {LLAMA, MISTRAL, QWEN3}


def a(match: str, runner: str, rest: str = "", id_: str = "a") -> str:
    return f"{{id: {id_}, match: {match}, runner: {runner}{rest}}}"


# rules -> what is added to the own set of 0.23 and what is taken away
SETS: dict[str, tuple[list[str], set[str], set[str]]] = {
    "no rules": ([], set(), set()),
    "prefer v2": ([a("{architectures: Qwen2ForCausalLM}", "v2")], {"Qwen2ForCausalLM"}, set()),
    "require v2": ([a("{architectures: Qwen2ForCausalLM}", "v2", ", enforce: require")], {"Qwen2ForCausalLM"}, set()),
    "prefer v1": ([a(f"{{architectures: {LLAMA}}}", "v1")], set(), {LLAMA}),
    "require v1": ([a(f"{{architectures: {LLAMA}}}", "v1", ", enforce: require")], set(), {LLAMA}),
    "engine": ([a(f"{{architectures: [{LLAMA}, X]}}", "engine")], set(), set()),
    "list": ([a(f"{{architectures: [{LLAMA}, {QWEN3}]}}", "v1")], set(), {LLAMA, QWEN3}),
    "out of tree": ([a("{architectures: AcmeForCausalLM}", "v2")], {"AcmeForCausalLM"}, set()),
    "glob": ([a("{architectures: 'Llama*'}", "v1")], set(), {LLAMA}),
    "glob, no out-of-tree name": ([a("{architectures: 'Acme*'}", "v2")], set(), set()),
    "everything to v1": ([a("{}", "v1")], set(), OWN),
    "negated": ([a(f"{{not: {{architectures: {LLAMA}}}}}", "v1")], set(), {MISTRAL, QWEN3}),
    "condition on a fact": ([a(f"{{architectures: {LLAMA}, model_config.is_moe: false}}", "v1")], set(), set()),
    "condition on a label": ([a("{labels.x: y}", "v1", ", enforce: require")], set(), set()),
    "condition on the environment": ([a("{env.X: y, architectures: X}", "v2")], set(), set()),
    "nested condition": ([a("{any: [{model: x}, {architectures: X}]}", "v2")], set(), set()),
    "this release": ([a("{architectures: X, vllm: '>=0.23,<0.24'}", "v2")], {"X"}, set()),
    "another release": ([a("{architectures: X, vllm: '<0.23'}", "v2")], set(), set()),
    "this platform": ([a("{architectures: X, platform: cuda}", "v2")], {"X"}, set()),
    "another platform": ([a("{architectures: X, platform: rocm}", "v2")], set(), set()),
    "require over prefer": (
        [a("{architectures: 'Llama*'}", "v2", id_="b"), a(f"{{architectures: {LLAMA}}}", "v1", ", enforce: require")],
        "LLAMAS",
        {LLAMA},
    ),
    "priority": (
        [a("{architectures: X}", "v1"), a("{architectures: X}", "v2", ", priority: 1", "b")],
        {"X"},
        set(),
    ),
    "expired": ([a("{architectures: X}", "v2", ", expires: 2020-01-01")], {"X"}, set()),
}  # type: ignore[assignment]  # fmt: skip


@pytest.mark.parametrize("case", SETS)
def test_set_is_own_plus_v2_minus_v1(catalog: Catalog, policies: Callable[..., PolicySet], case: str) -> None:
    rules, added, taken = SETS[case]
    names = catalog.architecture_names("0.23.0")
    plus = {n for n in names if n.startswith("Llama")} if added == "LLAMAS" else set(added)
    found = default_v2_architectures(policies(rules), catalog.load("0.23.0"), "0.23.0", "cuda", names)
    assert found is not None
    assert found.architectures == tuple(sorted((OWN | plus) - taken))


@pytest.mark.parametrize(
    ("release", "platform", "name", "listed"),
    [
        ("0.22.0", "cuda", QWEN3, True),
        ("0.22.0", "cuda", LLAMA, False),
        ("0.27.0", "cuda", "KimiK3ForConditionalGeneration", True),
        ("0.27.0", "rocm", "KimiK3ForConditionalGeneration", False),
        ("0.28.0", "rocm", "KimiK3ForConditionalGeneration", True),
        ("0.28.0", "cuda", "DeepseekV4ForCausalLM", True),
        ("0.28.0", "rocm", "DeepseekV4ForCausalLM", False),
    ],
)
def test_own_set_per_platform(catalog: Catalog, release: str, platform: str, name: str, listed: bool) -> None:
    found = default_v2_architectures(PolicySet(), catalog.load(release), release, platform, ())
    assert found is not None
    assert (name in found.architectures) is listed


def test_null_where_the_release_has_no_set(catalog: Catalog, policies: Callable[..., PolicySet]) -> None:
    rules = policies([a("{architectures: X}", "v2")])
    for release in catalog.releases:
        found = default_v2_architectures(rules, catalog.load(release), release, "cuda", ())
        assert (found is None) is (not (0.22 <= float(release.rpartition(".")[0]) <= 0.28)), release


@pytest.mark.parametrize("enforce", ["require", "prefer"])
def test_conflict(catalog: Catalog, policies: Callable[..., PolicySet], enforce: str) -> None:
    rules = [
        a("{architectures: X}", "v1", f", enforce: {enforce}", "one"),
        a("{architectures: X}", "v2", f", enforce: {enforce}", "two"),
    ]
    found = default_v2_architectures(policies(rules), catalog.load("0.23.0"), "0.23.0", "cuda", ())
    assert found is not None
    assert (set(found.architectures), len(found.conflicts)) == (OWN, 1)
    assert re.search(r"`one`.*`two`", found.conflicts[0])


RULES = [
    a("{architectures: [Qwen2ForCausalLM, AcmeForCausalLM]}", "v2", id_="b"),
    a(
        "{labels.team: x, any: [{model: 'a*'}, {vllm: '>=0.23'}]}",
        "v1",
        ", enforce: require, env: {A: b}",
        "c",
    ),
]


def compiled(catalog: Catalog, policy_set: PolicySet, release: str = "0.23.0") -> dict[str, Any]:
    names = catalog.architecture_names(release)
    return compile_policy(
        policy_set, catalog.load(release), platform="cuda", names=names, vllm=release, version="0"
    )


def test_every_release_fits_the_schema(catalog: Catalog, policies: Callable[..., PolicySet]) -> None:
    validator = jsonschema.Draft202012Validator(load_schema("compiled-policy"))
    for release in catalog.releases:
        validator.validate(compiled(catalog, policies(RULES), release))


def test_read_back_decides_the_same(
    catalog: Catalog, policies: Callable[..., PolicySet], tmp_path: Path
) -> None:
    policy_set = policies(RULES, "{P: q}")
    path = tmp_path / "policy.json"
    for release in ("0.11.0", "0.23.0", "0.30.0"):
        write_atomically(path, to_text(compiled(catalog, policy_set, release)))
        loaded = load_artifact(path)
        for text in ({}, {"labels.team": "x"}, {"unknown": ["labels.team"]}, {"architectures": [LLAMA]}):
            facts = Facts(nest({"vllm": release, **text}))
            names = catalog.architecture_names(release)
            one = resolve(loaded.policies, loaded.engine, facts, names=names).as_json()
            two = resolve(policy_set, catalog.load(release), facts, names=names).as_json()
            if (
                one["status"] == "undetermined"
            ):  # the artifact's keys are sorted: the facts come in another order
                assert set(one.pop("missing_facts")) == set(two.pop("missing_facts"))
                assert {e["code"] for e in one.pop("errors")} == {e["code"] for e in two.pop("errors")}
            assert one == two


def test_read_back_has_the_set(catalog: Catalog, policies: Callable[..., PolicySet], tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    write_atomically(path, to_text(compiled(catalog, policies(RULES))))
    assert load_artifact(path).default_v2_architectures == tuple(
        sorted(OWN | {"AcmeForCausalLM", "Qwen2ForCausalLM"})
    )


def _change(text: str, change: Callable[[dict[str, Any]], Any]) -> str:
    data = json.loads(text)
    change(data)
    return json.dumps(data)


CHANGES: dict[str, Callable[[str], str]] = {
    "a runner": lambda t: _change(t, lambda d: d["rules"][0].update(runner="engine")),
    "the set": lambda t: _change(t, lambda d: d["default_v2_architectures"].append("X")),
    "the engine": lambda t: _change(t, lambda d: d["engine"].update(switch="none")),
    "a new field": lambda t: _change(t, lambda d: d.update(x=1)),
    "the digest": lambda t: _change(t, lambda d: d.update(digest="sha256:" + "0" * 64)),
    "no digest": lambda t: _change(t, lambda d: d.pop("digest")),
    "another kind": lambda t: _change(t, lambda d: d.update(kind="RunnerPolicy")),
    "another version": lambda t: _change(t, lambda d: d.update(apiVersion="runnerctl/v2")),
    "cut off": lambda t: t[:-20],
    "empty": lambda _: "",
    "a list": lambda _: "[]",
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_file_is_refused(
    catalog: Catalog, policies: Callable[..., PolicySet], tmp_path: Path, change: str
) -> None:
    path = tmp_path / "policy.json"
    text = to_text(compiled(catalog, policies(RULES)))
    path.write_text(CHANGES[change](text))
    with pytest.raises(ArtifactError, match=r"policy\.json: "):
        load_artifact(path)


def test_reformatted_file_is_the_same_policy(
    catalog: Catalog, policies: Callable[..., PolicySet], tmp_path: Path
) -> None:
    path = tmp_path / "policy.json"
    artifact = compiled(catalog, policies(RULES))
    path.write_text(json.dumps(artifact))
    assert load_artifact(path).digest == artifact["digest"]


@pytest.mark.parametrize("kind", ["missing", "folder", "binary"])
def test_unreadable_artifact(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "policy.json"
    if kind == "folder":
        path.mkdir()
    if kind == "binary":
        path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ArtifactError):
        load_artifact(path)


def test_equal_bytes_in_every_process_and_order(tmp_path: Path) -> None:
    head = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: NAME}\nrules:\n"
    for name, rule in zip("xy", RULES, strict=True):
        (tmp_path / f"{name}.yaml").write_text(head.replace("NAME", name) + f"- {rule}\n")
    outputs = set()
    for seed, order in (("0", "xy"), ("1", "yx"), ("2", ".")):
        words = [w for n in order for w in ("--policy", "." if n == "." else f"{n}.yaml")]
        result = subprocess.run(
            [
                sys.executable,
                "-c",
                "from runnerctl.cli.main import run; run()",
                "compile",
                "--vllm",
                "0.23.0",
                *words,
            ],
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        outputs.add(result.stdout)
    assert len(outputs) == 1


def test_write_is_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    write_atomically(path, "one")
    write_atomically(path, "two")
    assert path.read_text() == "two"
    assert path.stat().st_mode & 0o444 == 0o444
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_atomically(tmp_path / "folder", "x")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    assert path.read_text() == "two"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "policy.json"]


def test_artifact_that_lacks_fields(tmp_path: Path) -> None:
    from policy.compiled.artifact import _digest

    content = {"apiVersion": "runnerctl/v1", "kind": "CompiledPolicy"}
    path = tmp_path / "policy.json"
    path.write_text(json.dumps({**content, "digest": _digest(content)}))
    with pytest.raises(ArtifactError):
        load_artifact(path)
