"""Which changed policies the tests notice: exactly those that they notice when everything is read and run again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from policy.decision.expectations import decide_test, unmet
from policy.document import Document, DocumentError, Source, parse
from policy.engine import Catalog
from policy.input_error import InputError
from policy.mutation.rules import policy_changes
from policy.mutation.run import mutate
from policy.rules.policy_set import PolicyFile, compose, read_policy
from policy.testing.run import Asked, ask_all, run
from policy.testing.suite import load_suites

CONFIGS = Path(__file__).resolve().parents[2] / "configs"

EVERYTHING = """\
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {name: everything}
env: {A: b, C: d}
rules:
- id: combined
  match:
    any: [{platform: rocm}, {all: [{model_config.is_moe: true}, {vllm: "~=0.23.0"}]}]
    not: {labels.stage: [canary, test]}
  runner: v1
  enforce: require
  env: {E: f}
- id: numbers
  match: {parallel_config.tensor_parallel_size: {ge: 2, lt: 8}, architectures: "*MoeForCausalLM"}
  runner: v2
  priority: 5
- id: other
  match: {env.MODE: {ne: safe}, packages.some-plugin: ">=1.2"}
  runner: engine
  expires: 2027-01-01
- {id: rest, match: {speculative_config: {exists: true}}, runner: v1, priority: 7}
tests:
- {given: {vllm: 0.23.0, platform: rocm}, expect: {rule: combined, env: {E: f}}}
- {given: {vllm: 0.23.1, model_config: {architectures: [X], is_moe: true}}, assume: 0.23.0, expect: {rule: combined}}
- {given: {vllm: 0.24.0, model_config: {architectures: [X], is_moe: true}}, expect: {layer: engine}}
- {given: {vllm: 0.23.0, platform: rocm, labels: {stage: canary}}, expect: {layer: engine, warnings: []}}
- {given: {vllm: 0.30.0, architectures: [AMoeForCausalLM], parallel_config.tensor_parallel_size: 2}, expect: {rule: numbers}}
- {given: {vllm: 0.30.0, architectures: [AMoeForCausalLM], unknown: [parallel_config.tensor_parallel_size]}, expect: {missing_facts: [parallel_config.tensor_parallel_size]}}
- {given: {vllm: 0.30.0, env.MODE: fast, packages: {some_plugin: "1.2"}}, today: 2027-01-01, expect: {warnings: [expired]}}
- {given: {vllm: 0.30.0, speculative_config.method: ngram, architectures: [AMoeForCausalLM], env.A: x}, expect: {rule: rest, overrides: [A]}}
"""


def asked_of(tmp_path: Path, text: str) -> list[Asked]:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    return ask_all(load_suites([path]), Catalog())


def by_brute_force(file: PolicyFile, asked: Iterable[Asked], catalog: Catalog) -> list[tuple[str, str, bool]]:
    """(rule, change, whether some test fails) for every change that gives a policy: all read and run again."""
    found = []
    for change in policy_changes(parse(Source(file.source, file.text)).data):
        try:
            changed = read_policy(parse(Source(file.source, json.dumps({**change.value, "tests": []}))))
        except DocumentError:
            continue
        fails = False
        for one in asked:
            try:
                policies = compose(changed if f is file else f for f in one.suite.policies.files)
                fails = any(
                    unmet(decide_test(policies, catalog, one.question.test), one.question.test.expect)
                )
            except InputError:
                fails = True
            if fails:
                break
        rule = file.rules[int(change.path[1])].id if change.path[0] == "rules" else ""
        found.append((rule, change.said, fails))
    return sorted(found)


@pytest.mark.parametrize("case", ["everything", "fleet.yaml", "vllm-0.23-defaults.yaml"])
def test_the_same_as_by_brute_force(tmp_path: Path, case: str) -> None:
    catalog = Catalog()
    if case == "everything":
        asked = asked_of(tmp_path, EVERYTHING)
    else:
        asked = [a for a in ask_all(load_suites([CONFIGS / case]), catalog) if a.suite.source.endswith(case)]
    assert all(outcome.passed for outcome in run(asked)), [o.unmet for o in run(asked)]
    (file,) = asked[0].suite.policies.files
    found = sorted((m.rule or "", m.said, m.noticed_by is not None) for m in mutate(asked).mutants)
    assert found == by_brute_force(file, asked, catalog)
    assert {noticed for _, _, noticed in found} == {True, False}


POLICY = """\
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {name: p}
rules:
- id: a
  match:
    model_config.is_moe: true
    platform: cuda
  runner: v1
tests:
- {given: {vllm: 0.23.0, model_config.is_moe: true}, expect: {rule: a, env: {VLLM_USE_V2_MODEL_RUNNER: "0"}}}
"""


def test_survivors_say_where_and_what(tmp_path: Path) -> None:
    found = mutate(asked_of(tmp_path, POLICY))
    path = tmp_path / "p.yaml"
    assert [(str(m.location), m.rule, m.field, m.said) for m in found.survivors] == [
        (f"{path}:5:3", "a", "enforce", "it becomes a `require`"),
        (f"{path}:7:5", "a", "match.model_config.is_moe", "`model_config.is_moe` is taken away"),
        (f"{path}:8:5", "a", "match.platform", "`platform` is taken away"),
    ]
    assert round(found.percent, 1) == round(100 * (1 - 3 / len(found.mutants)), 1)


def test_what_lint_finds_counts_too(tmp_path: Path) -> None:
    def findings(document: Document) -> list[str]:
        rules = document.data["rules"]
        return [
            f"{rule['id']} asks nothing of the platform" for rule in rules if "platform" not in rule["match"]
        ]

    found = mutate(asked_of(tmp_path, POLICY), findings)
    assert [m.said for m in found.survivors] == [
        "it becomes a `require`",
        "`model_config.is_moe` is taken away",
    ]
    assert "lint" in {m.noticed_by for m in found.mutants}


def test_what_lint_found_before_does_not_count(tmp_path: Path) -> None:
    before = mutate(asked_of(tmp_path, POLICY)).survivors
    assert mutate(asked_of(tmp_path, POLICY), lambda _: ["always"]).survivors == before


def test_a_policy_in_several_suites_is_changed_once(tmp_path: Path) -> None:
    alone = len(mutate(asked_of(tmp_path, POLICY)).mutants)
    (tmp_path / "p_test.yaml").write_text(
        "apiVersion: runnerctl/v1\nkind: RunnerPolicyTest\ntests:\n"
        "- {given: {vllm: 0.23.0, platform: rocm, model_config.is_moe: true}, expect: {layer: engine}}\n"
    )
    found = mutate(ask_all(load_suites([tmp_path]), Catalog()))
    assert len(found.mutants) == alone
    assert "match.platform" not in {m.field for m in found.survivors}
