"""The set of architectures that default to V2 in one release under a policy (SPEC section 5)."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from policy.engine.release import EngineRelease
from policy.facts.facts import Facts
from policy.rules.match import Equal, Match
from policy.rules.policy_set import PolicySet, Rule

__all__ = ["ConflictingRules", "default_v2_architectures", "is_static"]

ARCHITECTURES = "model_config.architectures"
# Rules that ask for more than this are settled for the deployment at hand and do not enter the set.
STATIC_PATHS = frozenset({ARCHITECTURES, "vllm", "platform"})


class ConflictingRules(ValueError):  # noqa: N818  (named for what it reports)
    """Two rules of the same rank want different runners for one architecture."""

    code = "conflicting-rules"


def is_static(match: Match) -> bool:
    """Whether a match asks for nothing but architecture, release and platform."""
    return all(leaf.path in STATIC_PATHS for leaf in match.leaves())


@functools.lru_cache(maxsize=64)
def default_v2_architectures(
    policies: PolicySet, engine: EngineRelease, platform: str, names: tuple[str, ...]
) -> tuple[str, ...] | None:
    """The release's own set, plus what the policy gives to V2, minus what it gives to V1, sorted.

    `names` are the architectures that the release registers, over which globs expand; names that rules spell
    out may be out-of-tree. None where the release has no such set. Raises `ConflictingRules`.
    """
    own = engine.default_v2_architectures
    if own is None:
        return None
    rules = [rule for rule in policies.rules if is_static(rule.match)]
    candidates = {*own, *(names if rules else ()), *_spelled_out(rules)}
    chosen = set()
    for name in candidates:
        facts = Facts(
            {"vllm": engine.release, "platform": platform, "model_config": {"architectures": [name]}}
        )
        wish = _wish(name, [rule for rule in rules if rule.match.value(facts)])
        listed = name in own and own[name].value(facts) is True
        if wish == "v2" or (wish != "v1" and listed):
            chosen.add(name)
    return tuple(sorted(chosen))


def _spelled_out(rules: Iterable[Rule]) -> set[str]:
    return {
        str(test.value)
        for rule in rules
        for leaf in rule.match.leaves()
        if leaf.path == ARCHITECTURES
        for test in leaf.tests
        if isinstance(test, Equal)
    }


def _wish(name: str, rules: Sequence[Rule]) -> str | None:
    """What the rules that match one architecture want; `rules` come with the one that decides first."""
    if not rules:
        return None
    first = rules[0]
    for rule in rules[1:]:
        if (rule.enforce, rule.priority if rule.enforce == "prefer" else 0) != (
            first.enforce,
            first.priority if first.enforce == "prefer" else 0,
        ):
            continue
        if rule.runner != first.runner:
            raise ConflictingRules(
                f"rules `{first.id}` ({first.location}) and `{rule.id}` ({rule.location}) both {first.enforce} "
                f"a runner for {name}, and not the same: {first.runner} and {rule.runner}"
            )
    return first.runner
