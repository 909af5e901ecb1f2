"""What a policy should pin: a rule that keeps the runner of before, asked of the resolver before it is suggested."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import yaml
from packaging.version import Version

from policy.decision import Decision, resolve
from policy.decision.serving import SWITCH_PATH
from policy.document.source import Document
from policy.engine.release import EngineRelease, Runner
from policy.facts.facts import Facts
from policy.facts.fields import field
from policy.rules.match import Match
from policy.rules.policy_set import PolicySet, Rule, rule_from_data
from policy.rules.read_match import MatchReader
from policy.upgrade.side import Side

__all__ = ["Keep", "deciding", "given_by", "keep_runner", "wanted"]

# How long a suggested pin lasts before somebody has to look at it again.
REVIEW = timedelta(days=90)
Decided = tuple[Side, Decision]
# What a document says where it says nothing; unlike null, which says something.
_NOTHING = object()
# Paths that a suggested match says already, or need not say.
SAID = {"vllm", "model", "model_config", "model_config.architecture", "model_config.architectures"}


@dataclass(frozen=True, slots=True)
class Keep:
    """A rule that keeps `runner`; None where the release after cannot be kept on it, and `why`."""

    runner: Runner
    why: str
    rule: Mapping[str, Any] | None = None

    @property
    def yaml(self) -> str | None:
        """The rule as an item of a policy's `rules:`."""
        return None if self.rule is None else _yaml(json.dumps(self.rule))

    def as_json(self) -> dict[str, Any]:
        return {
            "runner": self.runner,
            "possible": self.rule is not None,
            "why": self.why,
            "rule": dict(self.rule) if self.rule else None,
            "yaml": self.yaml,
        }


@functools.lru_cache(maxsize=4096)
def _yaml(rule: str) -> str:
    """A rule, given as JSON, as an item of a list: deployments with one pin show it alike.

    libyaml writes it in a fifth of the time, and the same wherever there are only plain letters and no empty text.
    """
    plain = rule.isascii() and "\\" not in rule and '""' not in rule
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper) if plain else yaml.SafeDumper
    return str(yaml.dump([json.loads(rule)], Dumper=dumper, sort_keys=False, width=100, allow_unicode=True))


def keep_runner(
    document: Mapping[str, Any],
    policies: PolicySet,
    before: Decided,
    after: Decided,
    *,
    paths: Sequence[str],
    held: bool,
    today: date | None,
) -> Keep | None:
    """The pin for a deployment whose runner does not stay by itself, or stays only by an accident.

    `paths` are those of `deciding`. `held` says that a pin holds for another deployment that is decided alike: one that
    matches then holds for this one, too, and need not be tried.
    """
    found = wanted(before, after)
    if found is None:
        return None
    runner, why = found
    engine = after[0].known
    clash = next((e.message for e in after[1].errors if e.code == "conflicting-rules"), None)
    if engine is None or clash:
        return Keep(runner, f"it cannot be kept: {clash or 'the release is not known'}")
    match = _match(document, paths, after[0].version)
    if len(match) == 1:
        return Keep(runner, "the facts name no model, architecture or label that a rule could match")
    entry = _entry(runner, match, why, today)
    rule = _rule(entry)
    facts = after[0].facts(document)
    if held and rule.match.value(facts) is True:
        return Keep(runner, why, entry)
    decision = _decide_with(rule, facts, policies, engine, today)
    if decision.status == "ok" and decision.runner == runner:
        return Keep(runner, why, entry)
    said = "; ".join(e.message for e in decision.errors)
    return Keep(runner, f"it cannot be kept: {said or 'another rule decides'}".replace(entry["id"], "pin"))


def wanted(before: Decided, after: Decided) -> tuple[Runner, str] | None:
    """The runner that a pin is to keep, and why; None where nothing changes that a pin could be for."""
    (old, was), (new, becomes) = before, after
    if was.status == "ok" and was.runner and becomes.runner != was.runner:
        return (
            was.runner,
            f"vLLM {old.version} ran this with {was.runner}; review before {new.version} changes it",
        )
    by = becomes.decided_by
    if becomes.runner and by and by.layer == "engine" and by.because:
        return becomes.runner, f"the runner depends on an accident: {'; '.join(by.because)}"
    return None


def _entry(runner: Runner, match: Mapping[str, Any], why: str, today: date | None) -> dict[str, Any]:
    mark = hashlib.sha256(json.dumps([runner, match], sort_keys=True).encode()).hexdigest()[:6]
    names = match.get("model") or (match.get("architectures") or ["deployment"])[0]
    slug = re.sub(r"[^a-z0-9]+", "-", str(names).lower()).strip("-") or "deployment"
    entry: dict[str, Any] = {
        "id": f"keep-{runner}-{slug[:60]}-{mark}",
        "match": dict(match),
        "runner": runner,
        "enforce": "require",
        "reason": why,
    }
    if today is not None:
        entry["expires"] = (today + REVIEW).isoformat()
    return entry


def given_by(document: Mapping[str, Any], paths: Sequence[str]) -> list[Any]:
    """All that a pin for the deployment can depend on, where `paths` are those on which its decisions rest."""
    model = document.get("model")
    architectures = (document.get("model_config") or {}).get("architectures")
    labels = None if architectures else document.get("labels")
    return [model, architectures, labels, *(_node(document, path) for path in paths)]


def _match(document: Mapping[str, Any], paths: Sequence[str], release: str) -> dict[str, Any]:
    """What tells this deployment from others: its model, and the facts on which the decisions rest."""
    match: dict[str, Any] = {}
    model = document.get("model")
    if isinstance(model, str) and not set(model) & set("*?"):
        match["model"] = model
    architectures = (document.get("model_config") or {}).get("architectures")
    if architectures:
        match["architectures"] = list(architectures)
    if not match:
        labels = document.get("labels") or {}
        match.update({f"labels.{name}": value for name, value in labels.items()})
    if match:
        for path in paths:
            given = _given(document, path)
            if given is not None:
                match[path] = given
    match["vllm"] = _series(release)
    return match


def _series(release: str) -> str:
    """The release and the patch releases after it: the next upgrade asks again."""
    version = Version(release)
    return f">={version.base_version},<{version.major}.{version.minor + 1}.dev0"


def deciding(
    document: Mapping[str, Any], policies: PolicySet, before: Decided, after: Decided
) -> tuple[str, ...]:
    """The paths on which the decisions for a deployment rest, sorted."""
    found = {*_deciding(document, policies, *before), *_deciding(document, policies, *after)}
    return tuple(sorted(found))


def _deciding(
    document: Mapping[str, Any], policies: PolicySet, side: Side, decision: Decision
) -> Iterator[str]:
    """The paths on which a decision rests: those of the policy's rule, the switch, or the release's own rule.

    Without them the pin would take in deployments that were decided for another reason.
    """
    engine, by = side.known, decision.decided_by
    if engine is None or by is None:
        return
    if by.layer == "environment":
        yield SWITCH_PATH
        return
    if by.layer == "policy":
        yield from (leaf.path for r in policies.rules if r.id == by.rule for leaf in r.match.leaves())
        return
    for match in _matches(engine, by.rule, side.facts(document)):
        yield from (leaf.path for leaf in match.leaves())


def _matches(engine: EngineRelease, rule: str | None, facts: Facts) -> Iterator[Match]:
    for choice in (*engine.overrides, *engine.choice):
        if choice.id != rule:
            continue
        yield choice.match
        if any(leaf.path == "unsupported.v2" for leaf in choice.match.leaves()):
            yield from (gap.match for gap in engine.unsupported["v2"] if gap.match.value(facts) is True)


def _given(document: Mapping[str, Any], path: str) -> Any:
    """What the document itself says at `path`, as a match; None where it says nothing."""
    head = path.partition(".")[0]
    if path in SAID or (head == "env" and path != SWITCH_PATH) or field(path) is None:
        return None
    node = _node(document, path)
    if node is _NOTHING:
        return None
    if node is None or isinstance(node, (list, Mapping)):
        return {"exists": node is not None}
    return node


def _node(document: Mapping[str, Any], path: str) -> Any:
    """What the document says at `path`, or `_NOTHING`."""
    node: Any = document
    for step in path.split("."):
        if not isinstance(node, Mapping) or step not in node:
            return _NOTHING
        node = node[step]
    return node


def _rule(entry: Mapping[str, Any]) -> Rule:
    reader = MatchReader(Document.unmarked("suggested rule", entry))
    return rule_from_data(entry, reader.read(entry["match"], ()), "suggested", "the suggested rule")


def _decide_with(
    rule: Rule, facts: Facts, policies: PolicySet, engine: EngineRelease, today: date | None
) -> Decision:
    rules = tuple(sorted((*policies.rules, rule), key=lambda r: r.rank))
    # The rule matches and requires, so the release's own choice is not asked; its set of V2 architectures, which
    # is costly to combine with a large policy, cannot matter.
    engine = copy(engine)
    engine.default_v2_architectures = None
    with_it = PolicySet(policies.files, rules, policies.env)
    return resolve(with_it, engine, facts, today=today)
