"""The set of architectures that default to V2 in one release under a policy."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from policy.engine.release import EngineRelease
from policy.facts.facts import Facts
from policy.rules.match import Equal, Match
from policy.rules.policy_set import PolicySet, Rule

__all__ = ["ArchitectureSet", "default_v2_architectures", "is_static"]

ARCHITECTURES = "model_config.architectures"
# Rules that ask for more than this are settled for the deployment at hand and do not enter the set.
STATIC_PATHS = frozenset({ARCHITECTURES, "vllm", "platform"})


class ArchitectureSet(NamedTuple):
    """The set, sorted, and the clashes of rules over architectures, which are left as the release has them."""

    architectures: tuple[str, ...]
    conflicts: tuple[str, ...] = ()


def is_static(match: Match) -> bool:
    """Whether a match asks for nothing but architecture, release and platform."""
    return all(leaf.path in STATIC_PATHS for leaf in match.leaves())


@functools.lru_cache(maxsize=64)
def _static_rules(policies: PolicySet) -> tuple[Rule, ...]:
    return tuple(rule for rule in policies.rules if is_static(rule.match))


@functools.lru_cache(maxsize=1024)
def default_v2_architectures(
    policies: PolicySet, engine: EngineRelease, vllm: str, platform: str, names: tuple[str, ...]
) -> ArchitectureSet | None:
    """The release's own set, plus what the policy gives to V2, minus what it gives to V1.

    `vllm` is the version that rules see, which `engine` describes. `names` are the architectures that it registers, over which globs expand; names that rules spell
    out may be out-of-tree. None where the release has no such set.
    """
    own = engine.default_v2_architectures
    if own is None:
        return None
    rules = _static_rules(policies)
    candidates = {*own, *(names if rules else ()), *_spelled_out(rules)}
    chosen, conflicts = set(), []
    for name in sorted(candidates):
        facts = Facts({"vllm": vllm, "platform": platform, "model_config": {"architectures": [name]}})
        wish, conflict = _wish(name, [rule for rule in rules if rule.match.value(facts)])
        if conflict:
            conflicts.append(conflict)
        listed = name in own and own[name].value(facts) is True
        if wish == "v2" or (wish != "v1" and listed):
            chosen.add(name)
    return ArchitectureSet(tuple(sorted(chosen)), tuple(conflicts))


def _spelled_out(rules: Iterable[Rule]) -> set[str]:
    return {
        str(test.value)
        for rule in rules
        for leaf in rule.match.leaves()
        if leaf.path == ARCHITECTURES
        for test in leaf.tests
        if isinstance(test, Equal)
    }


def _wish(name: str, rules: Sequence[Rule]) -> tuple[str | None, str | None]:
    """What the rules that match one architecture want, or how they clash; the one that decides comes first."""
    if not rules:
        return None, None
    first = rules[0]
    for rule in rules[1:]:
        if rule.runner != first.runner and _weight(rule) == _weight(first):
            return None, (
                f"rules `{first.id}` ({first.location}) and `{rule.id}` ({rule.location}) both {first.enforce} "
                f"a runner for {name}, and not the same: {first.runner} and {rule.runner}"
            )
    return first.runner, None


def _weight(rule: Rule) -> tuple[str, int]:
    """Rules of one weight cannot outrank each other; among `require` priority does not count."""
    return rule.enforce, rule.priority if rule.enforce == "prefer" else 0
