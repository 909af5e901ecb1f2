"""The schemas are valid and mean the same to the reference implementation; findings speak of the document."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from policy.document import DocumentError, Source, parse
from policy.document.schema import SCHEMAS, check, load_schema, schema_folder
from policy.engine import Catalog
from policy.rules.policy_set import read_policy

HEAD = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: fleet}\n"


def rule(text: str) -> str:
    """A policy of one rule; its match stands in line 5 from column 30."""
    return f"{HEAD}rules:\n- {{id: a, runner: v1, match: {text}}}\n"


FILES = sorted(p.name for p in schema_folder().glob("*.json"))


def test_every_schema_has_a_file() -> None:
    assert {f"{name}.schema.json" for name in SCHEMAS} <= set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_schema_is_valid_2020_12(name: str) -> None:
    schema = json.loads((schema_folder() / name).read_text("utf-8"))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


def test_release_files_fit_the_schema(catalog: Catalog) -> None:
    reference = jsonschema.Draft202012Validator(load_schema("engine-release"))
    files = sorted((catalog.folder / "releases").glob("*.yaml"))
    assert len(files) >= 29
    for file in files:
        document = parse(Source(str(file), file.read_text()))
        check(document, "engine-release")
        assert list(reference.iter_errors(document.data)) == [], file
        assert document.data["release"] == file.stem


# What follows HEAD -> the codes of all findings, in order; none for a good document.
POLICIES: dict[str, tuple[str, list[str]]] = {
    "good": ("rules:\n- {id: a, match: {}, runner: v1}\n", []),
    "no rules": ("rules: []\n", []),
    "everything": (
        "env: {A: b}\nrules:\n- {id: a.b_c-1, match: {any: [{model: x}], not: {platform: cpu}}, runner: engine,"
        " enforce: require, priority: -1, reason: r, expires: 2027-03-31, links: ['https://x'], owner: o,"
        " env: {_A: ''}}\ntests:\n- {name: n, given: {}, expect: {runner: v1}}\n",
        [],
    ),
    "no `rules`": ("env: {}\n", ["missing-field"]),
    "rules is a mapping": ("rules: {}\n", ["wrong-type"]),
    "rules is null": ("rules:\n", ["wrong-type"]),
    "unknown field": ("rulez: []\nrules: []\n", ["unknown-field"]),
    "rule without match": ("rules:\n- {id: a, runner: v1}\n", ["missing-field"]),
    "rule without anything": ("rules:\n- {}\n", ["missing-field"] * 3),
    "rule is a text": ("rules: [x]\n", ["wrong-type"]),
    "wrong runner": ("rules:\n- {id: a, match: {}, runner: V2}\n", ["wrong-value"]),
    "runner is a list": ("rules:\n- {id: a, match: {}, runner: [v1]}\n", ["wrong-value"]),
    "wrong enforce": ("rules:\n- {id: a, match: {}, runner: v1, enforce: must}\n", ["wrong-value"]),
    "priority is a text": ("rules:\n- {id: a, match: {}, runner: v1, priority: high}\n", ["wrong-type"]),
    "priority is 1.5": ("rules:\n- {id: a, match: {}, runner: v1, priority: 1.5}\n", ["wrong-type"]),
    "bad id": ("rules:\n- {id: a b, match: {}, runner: v1}\n", ["wrong-value"]),
    "empty reason": ("rules:\n- {id: a, match: {}, runner: v1, reason: ''}\n", ["empty-value"]),
    "day that does not exist": (
        "rules:\n- {id: a, match: {}, runner: v1, expires: 2027-02-30}\n",
        ["wrong-value"],
    ),
    "link that is none": ("rules:\n- {id: a, match: {}, runner: v1, links: [x]}\n", ["wrong-value"]),
    "env value is a number": ("env: {A: 1}\nrules: []\n", ["wrong-type"]),
    "env value is true": ("env: {A: true}\nrules: []\n", ["wrong-type"]),
    "env value is null": ("env: {A: }\nrules: []\n", ["wrong-type"]),
    "env name": ("env: {A-B: x}\nrules: []\n", ["wrong-name"]),
    "match is a list": ("rules:\n- {id: a, match: [], runner: v1}\n", ["wrong-type"]),
    "condition is null": ("rules:\n- {id: a, match: {model: null}, runner: v1}\n", ["wrong-type"]),
    "condition is an empty list": ("rules:\n- {id: a, match: {model: []}, runner: v1}\n", ["empty-value"]),
    "unknown operator": ("rules:\n- {id: a, match: {model: {eq: x}}, runner: v1}\n", ["unknown-field"]),
    "exists is a text": ("rules:\n- {id: a, match: {model: {exists: 'yes'}}, runner: v1}\n", ["wrong-type"]),
    "any is a mapping": ("rules:\n- {id: a, match: {any: {model: x}}, runner: v1}\n", ["wrong-type"]),
    "any is empty": ("rules:\n- {id: a, match: {any: []}, runner: v1}\n", ["empty-value"]),
    "not is a text": ("rules:\n- {id: a, match: {not: x}, runner: v1}\n", ["wrong-type"]),
    "test without expect": ("rules: []\ntests: [{given: {}}]\n", ["missing-field"]),
    "empty expect": ("rules: []\ntests: [{given: {}, expect: {}}]\n", ["empty-value"]),
    "several": (
        "env: {A: 1}\nrulez: []\nrules:\n- {id: a, match: {}, runner: v3, extra: 1}\n- 5\n",
        ["wrong-type", "unknown-field", "wrong-value", "unknown-field", "wrong-type"],
    ),
}


@pytest.mark.parametrize("case", POLICIES)
def test_policy_schema_here_and_in_the_reference_implementation(case: str) -> None:
    text, codes = POLICIES[case]
    document = parse(Source("p.yaml", HEAD + text))
    reference = jsonschema.Draft202012Validator(
        load_schema("policy"), format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )
    assert reference.is_valid(document.data) is (not codes)
    try:
        check(document, "policy")
        found: tuple[Any, ...] = ()
    except DocumentError as error:
        found = error.diagnostics
    assert [d.code for d in found] == codes
    assert [d.location for d in found] == sorted(d.location for d in found)
    assert all(d.location.line and d.location.column for d in found)


MESSAGES: dict[str, tuple[str, str]] = {
    "nearest field": (
        HEAD + "rules:\n- {id: a, match: {}, runner: v1, enfoce: require}\n",
        "p.yaml:5:34: unknown field `enfoce` [unknown-field]\n  help: did you mean `enforce`?",
    ),
    "no near field": (HEAD + "zzz: 1\nrules: []\n", "known here: `apiVersion`, `env`, `kind`"),
    "nearest value": (
        HEAD + "rules:\n- {id: a, match: {}, runner: v1, enforce: requires}\n",
        "p.yaml:5:43: `enforce` cannot be `requires` [wrong-value]\n  help: did you mean `require`?",
    ),
    "unknown version": (
        HEAD.replace("/v1", "/v2") + "rules: []\n",
        "p.yaml:1:13: `apiVersion` is `runnerctl/v2`, not `runnerctl/v1` [unknown-api-version]",
    ),
    "list": ("[1, 2]\n", "p.yaml:1:1: the document is a list, not a mapping [wrong-type]"),
    "null": ("---\n", "the document is `null`, not a mapping"),
    "text": ("hello\n", "the document is `hello`, not a mapping"),
    "number in env": (
        HEAD + "env:\n  A: 0.10  # tenth\nrules: []\n",
        'p.yaml:5:6: `A` is `0.10`, not a string [wrong-type]\n  help: quote it: "0.10"',
    ),
    "bool in env": (HEAD + "env: {A: true, B: x}\nrules: []\n", 'help: quote it: "true"'),
    "below a name that is a number": (rule("{1: {2: 3}}"), "p.yaml:5:35: unknown field `2`"),
    "an item that is empty": (
        HEAD.replace("name: fleet", "name: fleet, links: ['']") + "rules: []\n",
        "an item of `links` cannot be empty",
    ),
    "name is a number": (HEAD.replace("fleet", "1.10") + "rules: []\n", "`name` is `1.10`, not a string"),
    "date": (
        HEAD + "rules:\n- {id: a, match: {}, runner: v1, expires: soon}\n",
        "`expires` is `soon`, not a date [wrong-value]\n  help: a date is written YYYY-MM-DD",
    ),
    "null condition": (
        rule("{kv_transfer_config: null}"),
        "help: to ask whether it is off, write `{exists: false}`",
    ),
    "release": (
        rule("{vllm: 0.10}"),
        'p.yaml:5:37: the release `0.10` is a number, not a string [wrong-type]\n  help: quote it: "0.10"',
    ),
    "releases": (rule("{vllm: ['0.11.0', 0.20]}"), "p.yaml:5:48: the release `0.20` is a number"),
    "package": (rule("{packages.x: 1.10}"), 'help: quote it: "1.10"'),
    "release under not": (rule("{not: {vllm: 0.30}}"), "the release `0.30` is a number"),
    "no specifier": (rule('{vllm: ">=0.x"}'), "`>=0.x` is not a PEP 440 version specifier"),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_message(case: str) -> None:
    text, expected = MESSAGES[case]
    with pytest.raises(DocumentError) as caught:
        read_policy(parse(Source("p.yaml", text)))
    assert len(caught.value.diagnostics) == 1
    assert expected in str(caught.value)


# Names of digits, which a validator takes for indices of a list.
NUMBERED = {
    "env: {1: 2}\n": "f.yaml:1:10: `1` is `2`, not a string",
    "labels: {1: [2]}\n": "f.yaml:1:13: `1` is a list, not a string",
    "env: {01: x, 1: 2}\n": "f.yaml:1:17: `1` is `2`, not a string",
    "env: {+01: 2, 1: x}\n": "f.yaml:1:12: `+01` is `2`, not a string",
}


@pytest.mark.parametrize("text", NUMBERED)
def test_a_name_that_is_a_number(text: str) -> None:
    with pytest.raises(DocumentError) as caught:
        check(parse(Source("f.yaml", text)), "facts")
    assert len(caught.value.diagnostics) == 1
    assert NUMBERED[text] in str(caught.value)


def test_an_empty_item_is_named_by_its_list() -> None:
    text = "apiVersion: runnerctl/v1\nkind: RunnerPolicyTest\npolicies: ['']\ntests: []\n"
    with pytest.raises(DocumentError, match="an item of `policies` is empty"):
        check(parse(Source("p_test.yaml", text)), "policy-test")


def test_value_is_echoed_without_its_anchor() -> None:
    with pytest.raises(DocumentError, match="`A` is `5`"):
        read_policy(parse(Source("p.yaml", HEAD + "env: {A: &x 5}\nrules: []\n")))


def test_wrong_number_in_a_document_that_was_never_text() -> None:
    from policy.document import Document

    with pytest.raises(DocumentError, match="`is_moe` is `1`"):
        check(Document.unmarked("facts", {"model_config": {"is_moe": 1}}), "facts")


def test_bomb_that_stays_under_the_limit_is_refused_quickly() -> None:
    # One wrong rule, aliased 20,000 times: one finding, whose place is the anchor's.
    text = HEAD + "rules: [&r {id: a, match: {}, runner: v3}, " + "*r, " * 20_000 + "]\n"
    with pytest.raises(DocumentError) as caught:
        read_policy(parse(Source("p.yaml", text)))
    assert len(caught.value.diagnostics) == 1


def test_facts_schema_has_a_sane_default_for_every_field_that_has_one() -> None:
    def walk(node: dict[str, Any]) -> None:
        for child in node.get("properties", {}).values():
            if "default" in child:
                jsonschema.validate(child["default"], {k: v for k, v in child.items() if k != "properties"})
            walk(child)

    walk(load_schema("facts"))


def test_schemas_are_printed(cli: Callable[..., Any]) -> None:
    assert cli("schema").out.split() == list(SCHEMAS)
    for name in SCHEMAS:
        assert json.loads(cli("schema", name).out) == load_schema(name)
    wrong = cli("schema", "polcy")
    assert (wrong.code, wrong.out) == (2, "")
    assert "did you mean `policy`" in wrong.err


def test_shipped_folder_is_found() -> None:
    assert Path(schema_folder()).is_dir()
