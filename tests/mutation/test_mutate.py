"""Which changed policies the tests notice: exactly those that they notice when everything is read and run again."""

from __future__ import annotations

import json
import random
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
    asked = list(asked)
    dated = any(one.question.test.today for one in asked)
    for change in policy_changes(parse(Source(file.source, file.text)).data):
        if "becomes `20" in change.said and change.path[2:] == ("expires",) and not dated:
            continue
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


CONDITIONS = [
    "model_config.is_moe: true",
    "model_config.is_moe: false",
    'vllm: ">=0.23.dev0,<0.28"',
    "platform: [cuda, rocm]",
    'architectures: "Llama*"',
    "labels.stage: canary",
    "speculative_config: {exists: true}",
    "any: [{platform: rocm}, {labels.stage: {ne: test}}]",
    "not: {architectures: [MistralForCausalLM, X]}",
    "parallel_config.tensor_parallel_size: {ge: 2}",
]
FACTS = [
    "model_config.is_moe: true",
    "platform: rocm",
    "labels: {stage: canary}",
    "labels: {stage: test}",
    "speculative_config.method: ngram",
    "parallel_config.tensor_parallel_size: 2",
    "env.VLLM_USE_V2_MODEL_RUNNER: '1'",
    "unknown: [platform]",
    "unknown: [parallel_config.tensor_parallel_size, model_config.is_moe]",
]


def random_policy(dice: random.Random) -> str:
    """A small policy whose tests expect what is decided: they pass."""
    rules = []
    for i in range(dice.randrange(1, 5)):
        match = ", ".join(dice.sample(CONDITIONS[1:], dice.randrange(3)))
        runner, enforce = dice.choice(["v1", "v2", "engine"]), dice.choice(["require", "prefer", "prefer"])
        more = dice.choice(["", f", priority: {dice.randrange(3)}", ", env: {A: b}", ", expires: 2027-01-01"])
        rules.append(f"- {{id: r{i}, match: {{{match}}}, runner: {runner}, enforce: {enforce}{more}}}\n")
    head = (
        "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: p}\nenv: {C: d}\nrules:\n"
        + "".join(rules)
    )
    tests, (file,) = [], compose([read_policy(parse(Source("p.yaml", head)))]).files
    for _ in range(4):
        facts = {
            fact.partition(":")[0].partition(".")[0]: fact for fact in dice.sample(FACTS, dice.randrange(4))
        }
        given = [f"vllm: {dice.choice(['0.22.0', '0.23.0', '0.27.1', '0.30.0'])}", *facts.values()]
        given.append(f"architectures: [{dice.choice(['LlamaForCausalLM', 'MistralForCausalLM'])}]")
        text = f"- given: {{{', '.join(given)}}}\n  today: 2027-01-01\n  expect: "
        probe = read_policy(parse(Source("p.yaml", f"{head}tests:\n{text}{{warnings: []}}\n")))
        decision = decide_test(compose([file]), Catalog(), probe.tests[0])
        expect = {"status": decision.status, "runner": decision.runner, "env": dict(decision.env_set)}
        if decision.decided_by is not None and dice.random() < 0.5:
            expect["layer"] = decision.decided_by.layer
        if dice.random() < 0.3:
            expect["warnings"] = [warning.partition(" (")[0] for warning in decision.warnings]
        tests.append(f"{text}{json.dumps(expect)}\n")
    return f"{head}tests:\n{''.join(tests)}"


@pytest.mark.parametrize("seed", range(12))
def test_the_same_as_by_brute_force_for_random_policies(tmp_path: Path, seed: int) -> None:
    catalog = Catalog()
    asked = asked_of(tmp_path, random_policy(random.Random(seed)))  # noqa: S311
    assert all(outcome.passed for outcome in run(asked)), [list(map(str, o.unmet)) for o in run(asked)]
    (file,) = asked[0].suite.policies.files
    found = sorted((m.rule or "", m.said, m.noticed_by is not None) for m in mutate(asked).mutants)
    assert found == by_brute_force(file, asked, catalog)


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


@pytest.mark.parametrize(("today", "days"), [("", 0), (", today: 2027-01-01", 2)])
def test_the_day_of_a_rule_is_moved_where_a_test_has_a_day(tmp_path: Path, today: str, days: int) -> None:
    asked = asked_of(
        tmp_path,
        "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: p}\n"
        "rules: [{id: a, match: {labels.t: a}, runner: v1, expires: 2027-01-01}]\n"
        f"tests: [{{given: {{vllm: 0.23.0, labels.t: a}}{today}, expect: {{rule: a}}}}]\n",
    )
    moved = [m.said for m in mutate(asked).mutants if m.field == "expires"]
    assert "it is taken away" in moved
    assert len(moved) == 1 + days
