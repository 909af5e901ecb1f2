"""The one pure resolver behind every verb: policies, one release and facts in, a decision out.

Nothing here reads files, the clock or the process environment.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

from packaging.version import Version

from policy.compiled.architectures import default_v2_architectures
from policy.decision.decision import DecidedBy, Decision, Failure
from policy.decision.serving import (
    SWITCH_VALUES,
    OwnChoice,
    Refusal,
    Switch,
    Undecided,
    known,
    override,
    own_choice,
    read_switch,
    refusal,
    with_switch,
)
from policy.engine.catalog import UnknownRelease
from policy.engine.release import EngineRelease, Runner, other
from policy.environment import LAYERS, Environment, merge_layers
from policy.facts.facts import Facts
from policy.facts.fields import SWITCH
from policy.rules.policy_set import Enforce, PolicySet, Rule

__all__ = ["Layers", "decide", "resolve"]

# (name of the layer, its variables), from the weakest to the strongest.
Layers = Sequence[tuple[str, Mapping[str, str]]]


def resolve(
    policies: PolicySet,
    engine: EngineRelease | UnknownRelease | None,
    facts: Facts,
    *,
    layers: Layers | None = None,
    names: tuple[str, ...] = (),
    reasons: Mapping[str, str] | None = None,
    strict_env: bool = False,
    today: date | None = None,
) -> Decision:
    """Decide the runner of one deployment.

    `engine` is the release that the catalog found for `facts`, or why it found none; None when the facts name no
    release. `layers` are the operator's environment from the weakest to the strongest layer, for the record of
    overrides (`facts.env` is their merge). `names` are the architecture names that the release registers,
    `reasons` say why unknown facts are unknown, and `today` is the day against which rules expire.
    """
    decision = decide(
        policies, engine, facts, layers=layers, reasons=reasons, strict_env=strict_env, today=today
    )
    if not isinstance(engine, EngineRelease):
        return decision
    return _with_architectures(decision, policies, engine, facts, names)


def decide(
    policies: PolicySet,
    engine: EngineRelease | UnknownRelease | None,
    facts: Facts,
    *,
    layers: Layers | None = None,
    reasons: Mapping[str, str] | None = None,
    strict_env: bool = False,
    today: date | None = None,
) -> Decision:
    """As `resolve`, without the release's set of architectures, which asks every rule about every name."""
    if engine is None:
        message = "the vLLM release is not known; give --vllm RELEASE"
        return Decision(
            "undetermined", None, missing_facts=("vllm",), errors=(Failure("missing-facts", message),)
        )
    if isinstance(engine, UnknownRelease):
        hint = f"; --assume {engine.nearest} decides as that release does" if engine.nearest else ""
        message = f"{engine}{hint}"
        return Decision(
            "undetermined",
            engine.version,
            missing_facts=("vllm",),
            errors=(Failure("unknown-release", message),),
        )
    question = _Question(policies, engine, layers, strict_env, today)
    try:
        decision = question.decide(facts)  # nothing that matters is unknown: the usual case
    except Undecided:
        from policy.decision.cases import settle  # noqa: PLC0415  (6 ms that only unknown facts need)

        matches = [*policies.matches(), *engine.matches()]
        decision = settle(question.decide, facts, matches, reasons or {})
    return _with_described(decision, engine, facts)


def _with_described(decision: Decision, engine: EngineRelease, facts: Facts) -> Decision:
    """Says it where another release answers than the one that was asked about: a candidate, or an assumption."""
    asked = facts.value("vllm")
    if not isinstance(asked, str) or asked == engine.release or _final(asked) == Version(engine.release):
        return decision
    warning = f"vLLM {asked} is decided as {engine.release}; rules see {asked}"
    return decision._replace(warnings=(*decision.warnings, warning))


@functools.cache
def _final(version: str) -> Version:
    """A version without its local part and post number; a pre-release stays one."""
    parsed = Version(version)
    return parsed if parsed.is_prerelease else Version(parsed.base_version)


def _with_architectures(
    decision: Decision, policies: PolicySet, engine: EngineRelease, facts: Facts, names: tuple[str, ...]
) -> Decision:
    if engine.default_v2_architectures is None:
        return decision
    platform = facts.value("platform")
    found = default_v2_architectures(
        policies,
        engine,
        str(facts.value("vllm")),
        platform if isinstance(platform, str) else "cuda",
        names,
    )
    if found is None:
        return decision
    # Rules that clash over another architecture are `compile`'s business; this deployment's answer stands.
    warnings = (*decision.warnings, *found.conflicts) if decision.status == "ok" else decision.warnings
    return decision._replace(default_v2_architectures=found.architectures, warnings=warnings)


class _Question(NamedTuple):
    """One deployment's question, for facts in which everything that matters is known."""

    policies: PolicySet
    engine: EngineRelease
    layers: Layers | None
    strict_env: bool
    today: date | None

    def decide(self, facts: Facts) -> Decision:
        """Raises `Undecided` when an unknown fact stands in the way."""
        rules = self.policies.selection.candidates(facts)
        required = _matching("require", rules, facts)
        if required:
            return self._clash(required) or self._require(required, facts)
        switch = read_switch(facts)
        preferred = _matching("prefer", rules, facts)
        if switch is not None and self.engine.switch != "none":
            return self._operator(switch, preferred, facts)
        if preferred:
            top = [rule for rule in preferred if rule.priority == preferred[0].priority]
            return self._clash(top) or self._prefer(top, facts)
        return self._own(facts)

    def _clash(self, rules: Sequence[Rule]) -> Decision | None:
        """An error decision that names two of `rules` that cannot both be followed, if there are any."""
        first = rules[0]
        for rule in rules[1:]:
            if rule.runner != first.runner:
                message = (
                    f"rules `{first.id}` ({first.location}) and `{rule.id}` ({rule.location}) both {first.enforce} "
                    f"a runner here, and not the same: {first.runner} and {rule.runner}"
                )
                hint = "; a `priority` would settle it" if first.enforce == "prefer" else ""
                return self._error(_by(first), Failure("conflicting-rules", message + hint))
        env: dict[str, Rule] = {}
        for rule in rules:
            for name, value in rule.env.items():
                known_rule = env.setdefault(name, rule)
                if known_rule.env[name] != value:
                    message = (
                        f"rules `{known_rule.id}` and `{rule.id}` both decide, and set `{name}` differently"
                    )
                    return self._error(_by(first), Failure("conflicting-env", message))
        return None

    def _require(self, rules: Sequence[Rule], facts: Facts) -> Decision:
        rule = rules[0]
        if rule.runner == "engine":
            return self._release_choice(rules, facts)
        runner: Runner = rule.runner
        refused = refusal(self.engine, runner, with_switch(facts, self._forced_runner(runner)))
        if refused:
            return self._error(
                _by(rule), self._cannot_serve(runner, refused, f"rule `{rule.id}` requires {runner}")
            )
        return self._checked_against_operator(self._decided(runner, _by(rule), rules, facts), rule, facts)

    def _prefer(self, rules: Sequence[Rule], facts: Facts) -> Decision:
        rule = rules[0]
        if rule.runner == "engine":
            return self._release_choice(rules, facts)
        wanted: Runner = rule.runner
        refused = refusal(self.engine, wanted, with_switch(facts, self._forced_runner(wanted)))
        if refused is None:
            return self._decided(wanted, _by(rule), rules, facts)
        instead = other(wanted)
        also_refused = refusal(self.engine, instead, with_switch(facts, self._forced_runner(instead)))
        by = _by(rule)._replace(because=refused.sentences)
        if also_refused:
            failures = [
                self._cannot_serve(wanted, refused, f"rule `{rule.id}` prefers {wanted}"),
                self._cannot_serve(instead, also_refused, f"{instead} is what is left"),
            ]
            return self._error(by, *failures)
        warning = f"rule `{rule.id}` prefers {wanted}, which cannot serve this deployment: {_said(refused)}"
        return self._decided(instead, by, rules, facts, [warning])

    def _operator(self, switch: Switch, preferred: Sequence[Rule], facts: Facts) -> Decision:
        by = DecidedBy("environment", reason=f"{SWITCH}={switch.raw} is set")
        if switch.runner is None:
            message = (
                f"{SWITCH} is `{switch.raw}`, and vLLM reads an integer there and would raise; "
                "set it to 0 or 1, or unset it"
            )
            return self._error(by, Failure("invalid-switch", message))
        warnings = [
            f"{SWITCH}={switch.raw} overrules rule `{rule.id}` ({rule.location}), which prefers {rule.runner}"
            for rule in preferred
            if self._wish(rule, facts) != switch.runner
        ]
        there = with_switch(facts, switch.runner)
        forced = override(self.engine, there)
        if forced is not None and forced.runner != switch.runner and forced.refuses_switch is None:
            by = DecidedBy("engine", rule=forced.id, reason=forced.reason)
            warnings.append(f"vLLM {self.engine.release} ignores {SWITCH}={switch.raw}: {forced.reason}")
            return self._served(forced.runner, by, there, warnings)
        return self._served(switch.runner, by, there, warnings)

    def _wish(self, rule: Rule, facts: Facts) -> Runner:
        """The runner that a rule asks for; for `engine`, the one that the release would choose."""
        return (
            own_choice(self.engine, with_switch(facts, None)).runner
            if rule.runner == "engine"
            else rule.runner
        )

    def _served(self, runner: Runner, by: DecidedBy, there: Facts, warnings: Sequence[str]) -> Decision:
        """A decision that nobody sets anything for, unless the release would refuse it."""
        refused = refusal(self.engine, runner, there)
        if refused:
            return self._error(by, self._cannot_serve(runner, refused, by.reason))
        return self._decided(runner, by, (), there, warnings, forced=False)

    def _own(self, facts: Facts) -> Decision:
        there = with_switch(facts, None)
        choice = own_choice(self.engine, there)
        by = DecidedBy("engine", rule=choice.rule, reason=choice.reason, because=_because(choice))
        warnings = self._accident(choice)
        if read_switch(facts) is not None:
            warnings.append(
                f"vLLM {self.engine.release} does not know {SWITCH}, which is set and does nothing"
            )
        return self._served(choice.runner, by, there, warnings)

    def _release_choice(self, rules: Sequence[Rule], facts: Facts) -> Decision:
        """`runner: engine`: the release's own choice, with the switch taken away."""
        rule, there = rules[0], with_switch(facts, None)
        choice = own_choice(self.engine, there)
        by = _by(rule)._replace(because=_because(choice))
        refused = refusal(self.engine, choice.runner, there)
        if refused:
            return self._error(by, self._cannot_serve(choice.runner, refused, choice.reason))
        decision = self._decided(choice.runner, by, rules, facts, self._accident(choice))
        return self._checked_against_operator(decision, rule, facts)

    def _checked_against_operator(self, decision: Decision, rule: Rule, facts: Facts) -> Decision:
        """A `require` wins over a switch that disagrees, and says so, or refuses with --strict-env."""
        switch = read_switch(facts)
        if rule.enforce != "require" or switch is None or self.engine.switch == "none":
            return decision
        if switch.runner == decision.runner and rule.runner != "engine":
            return decision
        sources = (
            ", ".join(dict.fromkeys(o.source for o in decision.overrides if o.name == SWITCH))
            or "environment"
        )
        message = f"rule `{rule.id}` overrides {SWITCH}={switch.raw} ({sources})"
        if self.strict_env:
            failure = Failure("overridden-switch", f"{message}, which --strict-env forbids")
            return decision._replace(status="error", runner=None, env_set={}, env_unset=(), errors=(failure,))
        return decision._replace(warnings=(*decision.warnings, message))

    def _forced_runner(self, runner: Runner) -> Runner | None:
        return None if self.engine.switch == "none" else runner

    def _decided(
        self,
        runner: Runner,
        by: DecidedBy,
        rules: Sequence[Rule],
        facts: Facts,
        warnings: Sequence[str] = (),
        *,
        forced: bool = True,
    ) -> Decision:
        merged = self._environment(runner, rules, facts, forced=forced)
        before = facts.env
        notes = [*warnings, *self._dated(rules), *self._deprecation(runner, rules)]
        return Decision(
            "ok",
            self.engine.release,
            runner,
            by,
            {
                n: v
                for n, v in sorted(merged.variables.items())
                if before.get(n) != v or merged.sources[n] == LAYERS[-1]
            },
            tuple(sorted(self._unset(merged, before, rules))),
            overrides=merged.overrides,
            warnings=tuple(notes),
        )

    def _environment(
        self, runner: Runner, rules: Sequence[Rule], facts: Facts, *, forced: bool
    ) -> Environment:
        layers = self.layers if self.layers is not None else [("facts env", facts.env)]
        rule_env = {name: value for rule in rules for name, value in rule.env.items()}
        unset = bool(rules) and rules[0].runner == "engine"
        value = SWITCH_VALUES[runner] if forced and not unset and self.engine.switch != "none" else None
        by = f"rule {rules[0].id}" if rules else ""
        merged = [(LAYERS[0], self.policies.env), *layers, (LAYERS[4], rule_env)]
        return merge_layers(merged, forced=value, unset=unset, by=by)

    def _unset(self, merged: Environment, before: Mapping[str, str], rules: Sequence[Rule]) -> set[str]:
        gone = {name for name in before if name not in merged.variables}
        return gone | {SWITCH} if rules and rules[0].runner == "engine" else gone

    def _dated(self, rules: Sequence[Rule]) -> list[str]:
        today = self.today
        if today is None:
            return []
        return [
            f"rule `{rule.id}` ({rule.location}) expired on {rule.expires} and still decides; renew or remove it"
            for rule in rules
            if rule.expires and date.fromisoformat(rule.expires) <= today
        ]

    def _deprecation(self, runner: Runner, rules: Sequence[Rule]) -> list[str]:
        since = self.engine.deprecated.get(runner)
        if since is None or not rules or rules[0].runner == "engine":
            return []
        return [f"rule `{rules[0].id}` keeps {runner}, which vLLM {since} deprecated"]

    def _accident(self, choice: OwnChoice) -> list[str]:
        if not choice.accident:
            return []
        return [f"the runner depends on this: {choice.reason}; a rule would pin it"]

    def _cannot_serve(self, runner: Runner, refused: Refusal, why: str) -> Failure:
        message = (
            f"vLLM {self.engine.release} cannot serve this deployment with {runner} ({why}): {_said(refused)}"
        )
        code = "unsupported-features" if refused.features else "engine-refuses"
        return Failure(code, message, refused.features)

    def _error(self, by: DecidedBy, *failures: Failure) -> Decision:
        return Decision("error", self.engine.release, None, by, errors=failures)


def _matching(enforce: Enforce, rules: Sequence[Rule], facts: Facts) -> list[Rule]:
    return [rule for rule in rules if rule.enforce == enforce and known(rule.match, facts)]


def _by(rule: Rule) -> DecidedBy:
    return DecidedBy("policy", rule.id, rule.policy, rule.location, rule.enforce, rule.reason)


def _because(choice: OwnChoice) -> tuple[str, ...]:
    return (choice.reason,) if choice.accident else ()


def _said(refused: Refusal) -> str:
    return " ".join(refused.sentences)
