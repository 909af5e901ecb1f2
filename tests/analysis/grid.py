"""A small universe of deployments, and the answers of the real resolver for every one of them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from packaging.version import Version

from policy.analysis.homes import Homes
from policy.decision.resolve import resolve
from policy.document import Source, parse
from policy.document.schema import check
from policy.document.source import Document
from policy.engine import Catalog
from policy.facts.facts import Facts
from policy.rules.policy_set import PolicySet, Rule, compose, read_policy

CATALOG = Catalog()
HOMES = Homes(CATALOG)
SWITCH = "env.VLLM_USE_V2_MODEL_RUNNER"

# Every specifier below is made of these; the versions hold one for every set of specifiers that a version can satisfy.
SPECIFIERS = [
    "<0.12",
    ">=0.12",
    ">=0.12.dev0",
    "<0.12.dev0",
    ">0.22.0",
    "<=0.22.0",
    "==0.22.*",
    "!=0.22.0",
    "~=0.22.0",
    "==0.22.1rc1",
    ">=0.11,<0.22.1",
    "===0.22.0",
]
VERSIONS = [
    *(
        "0.10.0",
        "0.11.0",
        "0.11.2.post1",
        "0.12.0.dev3",
        "0.12.0rc1",
        "0.12.0",
        "0.21.0",
        "0.22.0.dev1",
        "0.22.0rc1",
    ),
    *("0.22.0", "0.22", "0.22.0+cu129", "0.22.0.post1", "0.22.0.0.1", "0.22.1.dev0", "0.22.1a1", "0.22.1rc1"),
    *("0.22.1rc1+local", "0.22.1rc2", "0.22.1", "0.23.0.dev1", "0.23.0rc1", "0.33.0", "0.99"),
]
NAMES = ["ab", "b"]
GLOBS = ["a*", "*b", "?"]
TEXTS = ["ab", "b", "a", "ax", "xb", "x", "xx", "axxb"]
SPECULATIVE: list[Any] = [
    None,
    *(
        {"method": m, "num_speculative_tokens": n}
        for m, n in itertools.product(["mtp", "ngram", "medusa", None], [1, 2, 3, 5])
    ),
]

# What is given for the paths that a policy asks for: each a list of partial documents.
PLACES: dict[str, list[dict[str, Any]]] = {
    "vllm": [{"vllm": v} for v in VERSIONS],
    "model_config": [
        {"model_config": None},
        *(
            {"model_config": {"architectures": list(names), "is_moe": moe}}
            for size in range(4)
            for names in itertools.combinations(TEXTS, size)
            for moe in (False, True)
        ),
    ],
    "speculative_config": [{"speculative_config": s} for s in SPECULATIVE],
    "env": [{"env": {}}, *({"env": {"VLLM_USE_V2_MODEL_RUNNER": raw}} for raw in ("0", "1", "2"))],
    "labels": [{"labels": labels} for labels in [{}, *({"team": t} for t in TEXTS)]],
    "platform": [{"platform": p} for p in ("cuda", "rocm", "xpu", "cpu", "tpu", "unspecified")],
    "has_triton": [{"has_triton": t} for t in (True, False)],
    "packages": [{"packages": p} for p in [{}, *({"plug-in": v} for v in (*VERSIONS, "nonsense"))]],
}


def _text() -> st.SearchStrategy[Any]:
    one = st.sampled_from(NAMES + GLOBS)
    return st.one_of(one, st.lists(one, min_size=2, max_size=3), one.map(lambda t: {"ne": t}))


def _number() -> st.SearchStrategy[Any]:
    bound = st.tuples(st.sampled_from(["gt", "ge", "lt", "le", "ne"]), st.sampled_from([2, 3]))
    return st.one_of(st.sampled_from([2, 3]), bound.map(lambda b: {b[0]: b[1]}))


EXISTS = st.booleans().map(lambda wanted: {"exists": wanted})
# Paths by place, so that a policy stays within a few places and the grid of them is small enough to walk.
CONDITIONS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "vllm": {
        "vllm": st.one_of(
            st.sampled_from(SPECIFIERS), st.lists(st.sampled_from(SPECIFIERS), min_size=2, max_size=2)
        )
    },
    "model_config": {
        "architectures": _text(),
        "model_config.is_moe": st.one_of(st.booleans(), EXISTS),
        "model_config": EXISTS,
        "model_config.architectures": EXISTS,
    },
    "speculative_config": {
        "speculative_config": EXISTS,
        "speculative_config.method": st.one_of(st.sampled_from(["mtp", "m*", ["mtp", "ngram"]]), EXISTS),
        "speculative_config.num_speculative_tokens": st.one_of(_number(), EXISTS),
    },
    "env": {SWITCH: st.one_of(st.sampled_from(["0", "1", ["0", "1"]]), EXISTS)},
    "labels": {"labels.team": st.one_of(_text(), EXISTS)},
    "platform": {"platform": st.sampled_from(["cuda", "rocm", ["cuda", "cpu"], {"ne": "cuda"}, "*pu"])},
    "has_triton": {"has_triton": st.booleans()},
    "packages": {"packages.plug_in": st.one_of(st.sampled_from(SPECIFIERS), EXISTS)},
}


@st.composite
def matches(draw: st.DrawFn, places: Sequence[str], depth: int = 2) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(draw(st.integers(0, 3))):
        path, condition = draw(
            st.sampled_from([(p, c) for place in places for p, c in CONDITIONS[place].items()])
        )
        found[path] = draw(condition)
    if depth and draw(st.integers(0, 2)) == 0:
        inner = matches(places, depth - 1)
        key = draw(st.sampled_from(["any", "all", "not"]))
        found[key] = draw(inner) if key == "not" else draw(st.lists(inner, min_size=1, max_size=3))
    return found


@st.composite
def rules(draw: st.DrawFn, places: Sequence[str], name: str) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": name,
        "match": draw(matches(places)),
        "runner": draw(st.sampled_from(["v1", "v2", "engine"])),
    }
    rule["enforce"] = draw(st.sampled_from(["require", "prefer", "prefer"]))
    rule["priority"] = draw(st.sampled_from([0, 0, 1]))
    if draw(st.booleans()):
        rule["env"] = {draw(st.sampled_from(["X", "Y"])): draw(st.sampled_from(["1", "2"]))}
    return rule


@st.composite
def policies(draw: st.DrawFn, most: int = 5) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Rules, and the places that they ask about."""
    places = tuple(draw(st.lists(st.sampled_from(sorted(PLACES)), min_size=1, max_size=2, unique=True)))
    names = "abcdefgh"[: draw(st.integers(1, most))]
    return [draw(rules(places, name)) for name in names], places


def policy_set(rules: Sequence[Mapping[str, Any]], name: str = "grid") -> PolicySet:
    data = {
        "apiVersion": "runnerctl/v1",
        "kind": "RunnerPolicy",
        "metadata": {"name": name},
        "rules": list(rules),
    }
    return compose([read_policy(parse(Source(f"{name}.yaml", json.dumps(data))))])


def is_facts_document(document: Mapping[str, Any]) -> bool:
    """Whether `resolve --facts` would read it; raises `DocumentError` where it would not."""
    check(Document.unmarked("witness", dict(document)), "facts")
    return True


@dataclass(frozen=True)
class Cell:
    """Deployments that a policy set cannot tell apart, by one of them."""

    document: Mapping[str, Any]
    matching: tuple[Rule, ...]
    decided_by: str | None
    error: str | None
    answer: tuple[Any, ...]


def cells(policies: PolicySet, places: Sequence[str], beside: Sequence[PolicySet] = ()) -> Iterator[Cell]:
    """Every deployment of the grid, each kind of them once: who decides hangs on which rules match, the switch, and
    the release."""
    seen: set[Any] = set()
    used = [PLACES[place] for place in places] + (
        [] if "vllm" in places else [[{"vllm": "0.11.0"}, {"vllm": "0.33.0"}]]
    )
    rules = [rule for some in (policies, *beside) for rule in some.rules]
    for parts in itertools.product(*used):
        document = {key: value for part in parts for key, value in part.items()}
        facts = Facts(document)
        held = tuple(rule.match.value(facts) for rule in rules)
        assert None not in held
        home = HOMES.home(Version(document["vllm"]))
        engine = CATALOG.load(home)
        kind = (held, document.get("env", {}).get("VLLM_USE_V2_MODEL_RUNNER"), engine.switch == "none")
        if kind in seen:
            continue
        seen.add(kind)
        decision = resolve(policies, engine, facts)
        by = decision.decided_by
        yield Cell(
            document,
            tuple(rule for rule, holds in zip(policies.rules, held, strict=False) if holds),
            by.rule if by and by.layer == "policy" else None,
            decision.errors[0].code if decision.errors else None,
            decision.answer,
        )
