"""Why a test fails: which rule was expected and why it did not decide, and which one did."""

from __future__ import annotations

from collections.abc import Iterator

from policy.decision.decision import Decision
from policy.decision.explain import explain
from policy.engine.release import EngineRelease
from policy.facts.facts import Facts
from policy.rules.policy_set import PolicySet, Rule
from policy.testing.clauses import failing_clause
from policy.testing.run import Outcome

__all__ = ["explained"]


def explained(outcome: Outcome) -> Iterator[str]:
    """Lines for whoever has to mend the policy or the test; none where the test passes."""
    if outcome.passed:
        return
    policies, question = outcome.asked.suite.policies, outcome.asked.question
    wanted = outcome.test.expect.get("rule")
    by = outcome.decision.decided_by
    if wanted is not None and (by is None or by.rule != wanted):
        rule = next((rule for rule in policies.rules if rule.id == wanted), None)
        if rule is not None:
            yield from _policy_rule(policies, rule, outcome.decision, question.facts)
        else:
            yield from _engine_rule(policies, question.engine, wanted, question.facts)
    yield _decided(outcome.decision)
    yield from (f"error: {failure.message}" for failure in outcome.decision.errors)
    yield from (f"warning: {warning}" for warning in outcome.decision.warnings)


def _policy_rule(policies: PolicySet, rule: Rule, decision: Decision, facts: Facts) -> Iterator[str]:
    clause = failing_clause(policies, rule, facts)
    if clause is not None:
        verb = "is open" if rule.match.value(facts) is None else "does not match"
        yield f"rule `{rule.id}` {verb}: {clause.why} ({clause.location})"
        return
    by = decision.decided_by
    first = next((r for r in policies.rules if by is not None and r.id == by.rule), None)
    yield f"rule `{rule.id}` ({rule.location}) matches, but {_outranked(rule, first, decision)}"


def _outranked(rule: Rule, first: Rule | None, decision: Decision) -> str:
    by = decision.decided_by
    if by is not None and by.layer == "environment":
        return "the operator's switch wins over a `prefer`"
    if first is None:
        return "it does not decide"
    if first.enforce != rule.enforce:
        return f"`{first.id}` is a `require`"
    if first.enforce == "prefer" and first.priority != rule.priority:
        return f"`{first.id}` has priority {first.priority}, over {rule.priority}"
    return f"`{first.id}` matches too, and comes first by its id"


def _engine_rule(policies: PolicySet, engine: object, wanted: str, facts: Facts) -> Iterator[str]:
    if isinstance(engine, EngineRelease):
        for looked in explain(policies, engine, facts):
            if looked.layer == "engine" and looked.rule == wanted and not looked.matched:
                yield f"rule `{wanted}` of vLLM {engine.release} does not match: {looked.why}"


def _decided(decision: Decision) -> str:
    by = decision.decided_by
    runner = decision.runner or "no runner"
    if by is None:
        return f"nothing decides: {decision.status}"
    match by.layer:
        case "policy":
            return (
                f"decided: {runner} by rule `{by.rule}` ({by.enforce}) of policy {by.policy}, {by.location}"
            )
        case "environment":
            return f"decided: {runner} by the operator: {by.reason}"
        case _:
            return f"decided: {runner} by vLLM {decision.vllm} itself, rule `{by.rule}`: {by.reason}"
