"""One policy and its deployments, made from seeds, for every engine: 10,000 deployments of ten attributes.

A rule asks for an architecture (exact, `Fam012*` or `Fam01*ForCausalLM`), a range of releases, a platform and two of
eight booleans; the first rule that matches decides. Seven of ten deployments are made to satisfy some rule.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

PLATFORMS = ("cuda", "rocm", "tpu", "cpu")
FLAGS = (
    "lora",
    "spec_decode",
    "prefix_caching",
    "chunked_prefill",
    "async_sched",
    "cudagraph",
    "multimodal",
    "pooling",
)
ENDINGS = ("ForCausalLM", "ForConditionalGeneration", "MoeForCausalLM")
FAMILIES = tuple(f"Fam{i:03d}" for i in range(100))
ARCHITECTURES = tuple(family + ending for family in FAMILIES for ending in ENDINGS)
RELEASES = 120  # numbered from 0; each engine has its own way to write them


@dataclass(frozen=True, slots=True)
class BenchRule:
    """`begins` and `ends` are the architecture's ends, `exact` says that `begins` is all of it; `low <= release < high`."""

    number: int
    begins: str
    ends: str
    exact: bool
    low: int
    high: int
    platform: str
    flags: tuple[tuple[str, bool], ...]
    runner: str

    @property
    def glob(self) -> str:
        return self.begins if self.exact else f"{self.begins}*{self.ends}"

    def matches(self, context: dict[str, Any]) -> bool:
        name = context["architecture"]
        named = (
            name == self.begins if self.exact else name.startswith(self.begins) and name.endswith(self.ends)
        )
        return (
            named
            and self.low <= context["release"] < self.high
            and self.platform == context["platform"]
            and all(context["flags"][flag] is value for flag, value in self.flags)
        )


def make_rules(count: int) -> list[BenchRule]:
    chance = random.Random(7)  # noqa: S311
    found = []
    for number in range(count):
        kind, family = chance.random(), chance.choice(FAMILIES)
        if kind < 0.50:
            begins, ends, exact = chance.choice(ARCHITECTURES), "", True
        elif kind < 0.85:
            begins, ends, exact = family, "", False
        else:
            begins, ends, exact = family[:5], chance.choice(ENDINGS), False
        low, high = sorted(chance.sample(range(RELEASES), 2))
        flags = tuple((flag, chance.random() < 0.5) for flag in chance.sample(FLAGS, 2))
        runner = "v2" if chance.random() < 0.7 else "v1"
        platform = chance.choice(PLATFORMS)
        found.append(BenchRule(number, begins, ends, exact, low, high, platform, flags, runner))
    return found


def make_contexts(rules: list[BenchRule], count: int) -> list[dict[str, Any]]:
    chance = random.Random(11)  # noqa: S311
    found = []
    for _ in range(count):
        context: dict[str, Any] = {
            "architecture": chance.choice(ARCHITECTURES),
            "release": chance.randrange(RELEASES),
            "platform": chance.choice(PLATFORMS),
            "dtype": chance.choice(["bfloat16", "float16"]),
            "tp": chance.choice([1, 2, 4, 8]),
            "max_len": chance.choice([4096, 32768, 131072]),
            "flags": {flag: chance.random() < 0.5 for flag in FLAGS},
            "labels": {"team": chance.choice("abcdef"), "stage": chance.choice(["prod", "test"])},
        }
        if chance.random() < 0.7:
            rule = chance.choice(rules)
            middle = (
                "" if rule.exact else chance.choice("0123456789") if rule.ends else chance.choice(ENDINGS)
            )
            context["architecture"] = f"{rule.begins}{middle}{rule.ends}"
            context["release"] = chance.randrange(rule.low, rule.high)
            context["platform"] = rule.platform
            context["flags"].update(rule.flags)
        found.append(context)
    return found


def first_match(rules: list[BenchRule], context: dict[str, Any]) -> int:
    """The reference: the number of the first rule that matches, or -1."""
    return next((rule.number for rule in rules if rule.matches(context)), -1)
