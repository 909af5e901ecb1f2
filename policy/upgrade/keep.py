"""What a policy should pin: a rule that keeps the runner of before, asked of the resolver before it is suggested."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
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

__all__ = ["Keep", "keep_runner"]

# How long a suggested pin lasts before somebody has to look at it again.
REVIEW = timedelta(days=90)
Decided = tuple[Side, Decision]
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
        if self.rule is None:
            return None
        return str(yaml.safe_dump([dict(self.rule)], sort_keys=False, width=100, allow_unicode=True))

    def as_json(self) -> dict[str, Any]:
        return {
            "runner": self.runner,
            "possible": self.rule is not None,
            "why": self.why,
            "rule": dict(self.rule) if self.rule else None,
            "yaml": self.yaml,
        }


def keep_runner(
    document: Mapping[str, Any], policies: PolicySet, before: Decided, after: Decided, *, today: date | None
) -> Keep | None:
    """The pin for a deployment whose runner does not stay by itself, or stays only by an accident."""
    wanted = _wanted(before, after)
    if wanted is None:
        return None
    runner, why = wanted
    engine = after[0].known
    clash = next((e.message for e in after[1].errors if e.code == "conflicting-rules"), None)
    if engine is None or clash:
        return Keep(runner, f"it cannot be kept: {clash or 'the release is not known'}")
    match = _match(document, policies, before, after)
    if len(match) == 1:
        return Keep(runner, "the facts name no model, architecture or label that a rule could match")
    entry = _entry(runner, match, why, today)
    decision = _decide_with(entry, document, policies, after[0], engine, today)
    if decision.status == "ok" and decision.runner == runner:
        return Keep(runner, why, entry)
    said = "; ".join(e.message for e in decision.errors)
    return Keep(runner, f"it cannot be kept: {said or 'another rule decides'}".replace(entry["id"], "pin"))


def _wanted(before: Decided, after: Decided) -> tuple[Runner, str] | None:
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


def _match(
    document: Mapping[str, Any], policies: PolicySet, before: Decided, after: Decided
) -> dict[str, Any]:
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
        for path in sorted({*_deciding(document, policies, *before), *_deciding(document, policies, *after)}):
            given = _given(document, path)
            if given is not None:
                match[path] = given
    match["vllm"] = _series(after[0].version)
    return match


def _series(release: str) -> str:
    """The release and the patch releases after it: the next upgrade asks again."""
    version = Version(release)
    return f">={version.base_version},<{version.major}.{version.minor + 1}.dev0"


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
    node: Any = document
    for step in path.split("."):
        if not isinstance(node, Mapping) or step not in node:
            return None
        node = node[step]
    if node is None or isinstance(node, (list, Mapping)):
        return {"exists": node is not None}
    return node


def _decide_with(
    entry: Mapping[str, Any],
    document: Mapping[str, Any],
    policies: PolicySet,
    side: Side,
    engine: EngineRelease,
    today: date | None,
) -> Decision:
    reader = MatchReader(Document.unmarked("suggested rule", entry))
    rule: Rule = rule_from_data(entry, reader.read(entry["match"], ()), "suggested", "the suggested rule")
    rules = tuple(sorted((*policies.rules, rule), key=lambda r: r.rank))
    # The rule matches and requires, so the release's own choice is not asked; its set of V2 architectures, which
    # is costly to combine with a large policy, cannot matter.
    engine = copy(engine)
    engine.default_v2_architectures = None
    with_it = PolicySet(policies.files, rules, policies.env)
    return resolve(with_it, engine, side.facts(document), today=today)
