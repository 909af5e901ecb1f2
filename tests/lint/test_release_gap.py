"""Which pairs of ranges RE305 reports, and for which it offers a fix."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.document.source import Source
from policy.engine import Catalog
from policy.lint.fixing import apply_fixes
from policy.lint.lint import lint
from policy.lint.registry import Selection

HEAD = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: p, owner: team}\nrules:\n"

# Two matches, and the release whose candidates both leave out, if there is one.
PAIRS: dict[str, tuple[str, str, str | None]] = {
    "a plain pair": ('vllm: "<0.25"', 'vllm: ">=0.25"', "0.25"),
    "one release in two spellings": ('vllm: "<0.25"', 'vllm: ">=0.25.0"', "0.25.0"),
    "the later one is written first": ('vllm: ">=0.25"', 'vllm: "<0.25"', "0.25"),
    "compatible releases, then a bound": ('vllm: "~=0.24.0"', 'vllm: ">=0.25.0"', "0.25.0"),
    "compatible releases twice": ('vllm: "~=0.24.0"', 'vllm: "~=0.25.0"', "0.25.0"),
    "a prefix, then a bound": ('vllm: "==0.24.*"', 'vllm: ">=0.25"', "0.25"),
    "up to the release before": ('vllm: "<=0.24.0"', 'vllm: ">=0.25"', "0.25"),
    "up to a patch release": ('vllm: "<=0.25.0"', 'vllm: ">=0.25.1"', "0.25.1"),
    "all but a prefix": ('vllm: "!=0.25.*,<0.26"', 'vllm: "~=0.25.0"', "0.25.0"),
    "a range in `any`": ('any: [{vllm: "<0.25"}, {vllm: "<0.23"}]', 'vllm: ">=0.25"', "0.25"),
    "a range in `all`": ('all: [{vllm: "<0.25"}]', 'all: [{vllm: ">=0.25"}]', "0.25"),
    "a range in `not`": ('not: {vllm: ">=0.25.dev0"}', 'vllm: ">=0.25"', "0.25"),
    "a list of ranges": ('vllm: ["<0.23", ">=0.24,<0.25"]', 'vllm: ">=0.25"', "0.25"),
    "a release that nobody described": ('vllm: "<7"', 'vllm: ">=7"', "7"),
    "names that overlap": (
        'architectures: [A, B], vllm: "<0.25"',
        'architectures: A, vllm: ">=0.25"',
        "0.25",
    ),
    "one asks for more": ('vllm: "<0.25"', 'platform: rocm, vllm: ">=0.25"', "0.25"),
    "the same condition in `all`": (
        'all: [{platform: rocm}], vllm: "<0.25"',
        'platform: rocm, vllm: ">=0.25"',
        "0.25",
    ),
    "the earlier one ends with the candidates": ('vllm: "<=0.25rc9"', 'vllm: ">=0.25"', None),
    "the later one begins with the candidates": ('vllm: "==0.24.*"', 'vllm: "==0.25.*"', None),
    "an end at a candidate is meant": ('vllm: "<0.25rc1"', 'vllm: ">=0.25"', None),
    "a release is in the hole": ('vllm: "<=0.23.0"', 'vllm: ">=0.25"', None),
    "a release that nobody described may be in the hole": ('vllm: "<=6"', 'vllm: ">=7"', None),
    "they overlap": ('vllm: "<0.26"', 'vllm: ">=0.25"', None),
    "single releases": ('vllm: ["==0.23.0", "0.24.0"]', 'vllm: ">=0.25"', None),
    "another platform": ('platform: cuda, vllm: "<0.25"', 'platform: rocm, vllm: ">=0.25"', None),
    "another platform in `all`": (
        'all: [{platform: cuda}, {vllm: "<0.25"}]',
        'platform: rocm, vllm: ">=0.25"',
        None,
    ),
    "another architecture": ('architectures: A, vllm: "<0.25"', 'architectures: B, vllm: ">=0.25"', None),
    "about different things": ('architectures: A, vllm: "<0.25"', 'platform: rocm, vllm: ">=0.25"', None),
    "the other half of a number": (
        'scheduler_config.max_num_seqs: {lt: 9}, vllm: "<0.25"',
        'scheduler_config.max_num_seqs: {ge: 9}, vllm: ">=0.25"',
        None,
    ),
}
# A third rule beside `<0.25` and `>=0.25` of one architecture: whether the hole is reported, and mended.
THIRD = {
    "another hole": ('architectures: A, vllm: "==0.22.*"', (True, True)),
    "the candidates": ('architectures: A, vllm: ">=0.25.dev0,<=0.25rc9"', (False, False)),
    "one candidate": ('vllm: "==0.25rc1"', (False, False)),
    "the candidates in `any`": ('any: [{vllm: "==0.25.0.*"}, {vllm: "<0.12"}]', (False, False)),
    "the candidates of another platform": ('platform: rocm, vllm: ">=0.25.dev0,<=0.25rc9"', (False, False)),
    "the candidates of another architecture": ('architectures: B, vllm: "==0.25.*"', (True, True)),
    "everything": ("", (False, False)),
    "everything of the same": ("architectures: A", (False, False)),
    "a part in all releases": ("platform: rocm", (True, False)),
}


# One match, and whether the hole below 0.25 in it is reported.
WITHIN: dict[str, tuple[str, bool]] = {
    "a list": ('vllm: ["<0.25", ">=0.25"]', True),
    "a list, the later one first": ('vllm: [">=0.25.0", "<0.25"]', True),
    "a list with more": ('vllm: ["<0.12.dev0", ">=0.22.dev0,<0.25", ">=0.25,<0.27.dev0"]', True),
    "beside other conditions": ('platform: rocm, vllm: ["<0.25", ">=0.25"]', True),
    "`any`": ('any: [{vllm: "<0.25"}, {vllm: ">=0.25"}]', True),
    "`any` that asks for the same": (
        'any: [{vllm: "<0.25", platform: rocm}, {platform: rocm, vllm: ">=0.25"}]',
        True,
    ),
    "`any` of lists": ('any: [{vllm: ["<0.12.dev0", ">=0.22.dev0,<0.25"]}, {vllm: ">=0.25"}]', True),
    "`any` in `all`": ('all: [{any: [{vllm: "<0.25"}, {vllm: ">=0.25"}]}]', True),
    "a list in `any`": ('any: [{vllm: ["<0.25", ">=0.25"]}]', True),
    "`any` that asks for other things": (
        'any: [{vllm: "<0.25", platform: cuda}, {vllm: ">=0.25", platform: rocm}]',
        False,
    ),
    "`any` with something that takes all": (
        'any: [{vllm: "<0.25"}, {vllm: ">=0.25"}, {platform: rocm}]',
        False,
    ),
    "a list that has the candidates": ('vllm: ["<0.25", "==0.25.*"]', False),
    "a list with a release in the hole": ('vllm: ["<0.24", ">=0.25"]', False),
    "a list with one candidate": ('vllm: ["<0.25", "==0.25rc1", ">=0.25"]', False),
    "a list that ends at the candidates": ('vllm: ["<0.25.dev0", ">=0.25"]', False),
    "a list of compatible releases": ('vllm: ["~=0.24.0", "~=0.25.0"]', False),
    "what is left out on purpose": ('not: {vllm: ["<0.25", ">=0.25"]}', False),
    "a list of which the rule takes one half": (
        'vllm: ["<0.25", ">=0.25"], all: [{vllm: "<0.24.dev0"}]',
        False,
    ),
}


def found(cli: Callable[..., Any], matches: list[str], *options: str) -> list[Any]:
    rules = [f"  - {{id: {'abc'[i]}, match: {{{match}}}, runner: v1}}\n" for i, match in enumerate(matches)]
    Path("p.yaml").write_text(HEAD + "".join(rules))
    answer = cli("lint", "p.yaml", "--select", "RE305", "--format", "json", *options)
    findings: list[Any] = json.loads(answer.out)["findings"]
    return findings


@pytest.mark.parametrize("case", PAIRS)
@pytest.mark.usefixtures("here")
def test_pairs(cli: Callable[..., Any], case: str) -> None:
    first, second, release = PAIRS[case]
    said = [
        re.findall(r"both leave out (\S+)rc1 and nightlies", f["message"])
        for f in found(cli, [first, second])
    ]
    assert said == ([] if release is None else [[release]])


@pytest.mark.parametrize("case", WITHIN)
@pytest.mark.usefixtures("here")
def test_within_one_match(cli: Callable[..., Any], case: str) -> None:
    match, wanted = WITHIN[case]
    findings = found(cli, [match])
    assert [re.findall(r"both leave out (\S+)rc1", f["message"])[0][:4] for f in findings] == [
        "0.25"
    ] * wanted
    assert all(f["fix"] for f in findings)
    assert cli("lint", "p.yaml", "--select", "RE305", "--fix").code == 0


@pytest.mark.parametrize("third", [third for third, _ in THIRD.values() if third])
@pytest.mark.usefixtures("here")
def test_a_third_rule_beside_one_match(cli: Callable[..., Any], third: str) -> None:
    """As it is beside two rules."""
    (expected,) = (expected for text, expected in THIRD.values() if text == third)
    findings = found(cli, ['architectures: A, vllm: ["<0.25", ">=0.25"]', third])
    assert (bool(findings), any(f["fix"] for f in findings)) == expected


# The matches of some rules, where something of a gap has an anchor, so that it may be in other rules.
SHARED = {
    "a range": ['{vllm: "<0.25"}', '{vllm: &v ">=0.25"}', "{platform: rocm, vllm: *v}"],
    "the other range": ['{vllm: &v "<0.25"}', '{vllm: ">=0.25"}', "{platform: rocm, vllm: *v}"],
    "a match": ['{vllm: "<0.25"}', '&m {vllm: ">=0.25"}', "*m"],
    "a list": ['{vllm: &v ["<0.25", ">=0.25"]}', "{platform: rocm, vllm: *v}"],
    "an item of a list": ['{vllm: ["<0.25", &v ">=0.25"]}', "{platform: rocm, vllm: *v}"],
}


@pytest.mark.parametrize("case", SHARED)
def test_what_may_be_shared_is_not_mended_and_it_is_said_why(
    cli: Callable[..., Any], here: Path, case: str
) -> None:
    rules = [f"  - {{id: {'abc'[i]}, match: {match}, runner: v1}}\n" for i, match in enumerate(SHARED[case])]
    (here / "p.yaml").write_text(HEAD + "".join(rules))
    findings = cli("lint", "p.yaml", "--select", "RE305", "--format", "json").json["findings"]
    assert any("by hand, as one has an anchor" in finding["help"] for finding in findings)
    assert not any(finding["fix"] for finding in findings)
    assert cli("lint", "p.yaml", "--select", "RE305", "--diff").out == ""


@pytest.mark.usefixtures("here")
def test_why_another_rule_keeps_it_from_being_mended(cli: Callable[..., Any]) -> None:
    rules = ['architectures: A, vllm: "<0.25"', 'architectures: A, vllm: ">=0.25"', "platform: rocm"]
    (finding,) = found(cli, rules)
    assert finding["help"].endswith("; by hand, as another rule has a say there")


@pytest.mark.parametrize("ending", [0, 1])
def test_a_comment_at_either_end_silences(cli: Callable[..., Any], here: Path, ending: int) -> None:
    lines = [
        "  - {id: a, match: {vllm: '<0.25'}, runner: v1}",
        "  - {id: b, match: {vllm: '>=0.25'}, runner: v2}",
    ]
    lines[ending] += "  # runnerctl: ignore[RE305] no nightlies here"
    (here / "p.yaml").write_text(HEAD + "\n".join(lines) + "\n")
    answer = cli("lint", "p.yaml", "--select", "RE305,RH481")
    assert (answer.code, answer.out) == (0, "")


@pytest.mark.parametrize("case", THIRD)
@pytest.mark.usefixtures("here")
def test_a_third_rule(cli: Callable[..., Any], case: str) -> None:
    third, expected = THIRD[case]
    findings = found(cli, ['architectures: A, vllm: "<0.25"', 'architectures: A, vllm: ">=0.25"', third])
    assert (bool(findings), any(f["fix"] for f in findings)) == expected


@pytest.mark.parametrize("first", ["~=0.24.0", "==0.24.*", "<=0.24.0"])
@pytest.mark.usefixtures("here")
def test_what_is_no_plain_pair_is_said_and_left(cli: Callable[..., Any], first: str) -> None:
    (finding,) = found(cli, [f'vllm: "{first}"', 'vllm: ">=0.25"'])
    assert finding["message"].startswith(f"`{first}` of rule `a` and `>=0.25` here")
    assert finding["help"] == "let one of them have these, too: `>=0.25.dev0` begins with the first nightly"
    assert finding["fix"] is None


RANGES = st.sampled_from(
    [
        '"<0.25"',
        '">=0.25"',
        '"~=0.24.0"',
        '"==0.25.*"',
        '">=0.25.dev0,<=0.25rc9"',
        '">=0.25,<0.27"',
        '">=0.27"',
        '"!=0.25.0"',
        '["<0.23", ">=0.24,<0.25"]',
    ]
)
OTHERS = st.sampled_from(
    ["architectures: A", "architectures: [A, B]", "platform: rocm", 'architectures: "A*"', "has_triton: true"]
)
WEIGHTS = st.sampled_from(["", ", enforce: require", ", priority: 3"])
RULES = st.lists(
    st.tuples(st.none() | RANGES, st.none() | OTHERS, st.sampled_from(["v1", "v2"]), WEIGHTS),
    min_size=1,
    max_size=2,
)
CATALOG = Catalog()


@settings(max_examples=150, deadline=None)
@given(RULES)
def test_mending_makes_no_error(rules: list[tuple[str | None, str | None, str, str]]) -> None:
    """Neither a conflict nor a rule that never decides: the later range grows by what nobody else has."""
    pair = [('"<0.25"', "architectures: A", "v1", ""), ('">=0.25"', "architectures: A", "v2", "")]
    text = HEAD
    for i, (releases, other, runner, weight) in enumerate([*pair, *rules]):
        match = ", ".join([*([f"vllm: {releases}"] if releases else []), *([other] if other else [])])
        text += f"  - {{id: {'abcd'[i]}, match: {{{match}}}, runner: {runner}{weight}}}\n"
    before, gaps = errors(text)
    mended = apply_fixes(gaps, {"p.yaml": text})
    after, _ = errors(mended.texts.get("p.yaml", text))
    assert after <= before


def errors(text: str) -> tuple[set[tuple[str, str]], list[Any]]:
    """What is found by other rules, and by this one."""
    selection = Selection(["RE305", "RM2", "RD"], [])
    done = lint([Source("p.yaml", text)], CATALOG, date(2026, 12, 1), selection)
    others = {(f.code, f.message) for f in done if f.code != "RE305"}
    return others, [f for f in done if f.code == "RE305"]
