"""Puts one test to a policy set of which one rule has changed, and asks no rule that has no part in the answer."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from policy.decision.expectations import unmet
from policy.input_error import InputError
from policy.rules.policy_set import PolicyFile, PolicySet, Rule, compose
from policy.testing.run import Asked

__all__ = ["Case"]


@dataclass(frozen=True, eq=False)
class Case:
    """A test that passes, and what of its policies matters for its facts."""

    asked: Asked

    @property
    def location(self) -> str:
        return self.asked.question.test.location

    @functools.cached_property
    def _live(self) -> dict[str, Rule]:
        """The rules that match, or may: one that does not match keeps out whatever becomes of another."""
        facts = self.asked.question.facts
        rules = self.asked.suite.policies.rules
        return {rule.id: rule for rule in rules if rule.match.value(facts) is not False}

    @functools.cached_property
    def _sees_all(self) -> bool:
        """Warnings may tell of architectures that the test does not name."""
        return "warnings" in self.asked.question.test.expect

    def notices_rule(self, old: Rule, new: Rule | None) -> bool:
        """Whether the test fails once `new` stands in the place of `old`, or nothing does."""
        if not self._sees_all and not self._may_tell(old, new):
            return False
        policies = self.asked.suite.policies
        rules = policies.rules if self._sees_all else self._live.values()
        changed = [rule for rule in rules if rule.id != old.id]
        if new is not None:
            changed.append(new)
        ordered = tuple(sorted(changed, key=lambda rule: rule.rank))
        return self._fails(PolicySet(policies.files, ordered, policies.env))

    def notices_env(self, old: PolicyFile, new: PolicyFile) -> bool:
        """Whether the test fails, or the files no longer go together, once a policy sets other variables."""
        files = (new if file is old else file for file in self.asked.suite.policies.files)
        try:
            return self._fails(compose(files))
        except InputError:
            return True

    def _may_tell(self, old: Rule, new: Rule | None) -> bool:
        """Whether the rule has a part in the answer before or after, and not the same."""
        live = old.id in self._live
        if new is None or new.match is old.match:
            return live
        facts = self.asked.question.facts
        after = new.match.value(facts)
        return after is not False if not live else after is None or old.match.value(facts) is not after

    def _fails(self, policies: PolicySet) -> bool:
        question = self.asked.question
        return any(unmet(question.decide(policies), question.test.expect))
