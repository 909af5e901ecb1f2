"""Everything that a rule of lint may look at: the files of one policy set, the catalog, the day."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from policy.engine.catalog import Catalog
from policy.lint.knowledge import Knowledge, Releases
from policy.lint.text import PolicyText, RuleText, TestText
from policy.rules.policy_set import PolicySet

if TYPE_CHECKING:
    from policy.analysis import Analysis

__all__ = ["Subject"]


class Subject:
    """One policy set. `policies` holds every rule that could be read, `today` is the day of the run.

    Where it is not `complete`, there are files whose rules and tests nobody knows.
    """

    def __init__(
        self,
        files: Sequence[PolicyText],
        policies: PolicySet,
        catalog: Catalog,
        today: date,
        complete: bool = True,
    ) -> None:
        self.files = files
        self.policies = policies
        self.catalog = catalog
        self.today = today
        self.complete = complete

    @functools.cached_property
    def knowledge(self) -> Knowledge:
        return Knowledge(self.catalog)

    @functools.cached_property
    def rules(self) -> tuple[RuleText, ...]:
        """The rules of all files that fit the schema."""
        return tuple(rule for file in self.files for rule in file.rules)

    @functools.cached_property
    def by_id(self) -> Mapping[str, RuleText]:
        """The rules by id; of two with one id the first."""
        return {rule.id: rule for rule in reversed(self.rules)}

    @functools.cached_property
    def written(self) -> frozenset[str]:
        """The ids of all rules, also of those that do not fit the schema."""
        return frozenset().union(*(file.written for file in self.files))

    @functools.cached_property
    def expected(self) -> frozenset[str]:
        """The rules that tests expect to decide, also tests that do not fit the schema."""
        return frozenset().union(*(file.expected for file in self.files))

    def knows(self, about: Sequence[str] | None) -> bool:
        """Whether all that a file of tests is about is here."""
        if about is None:
            return True
        names = [os.path.normpath(file.name) for file in self.files if file.about is None]
        return all(
            any(path in (name, ".") or name.startswith(path + os.sep) for name in names) for path in about
        )

    @functools.cached_property
    def tests(self) -> tuple[TestText, ...]:
        """The tests of all files that fit the schema."""
        return tuple(test for file in self.files for test in file.tests)

    @functools.cached_property
    def _reach(self) -> dict[RuleText, Releases]:
        return {}

    def reach(self, rule: RuleText) -> Releases:
        """The described releases in which a rule may match; all of them where its match could not be read."""
        found = self._reach.get(rule)
        if found is None:
            match = rule.rule.match if rule.rule else None
            found = self.knowledge.every if match is None else self.knowledge.reached(match)
            self._reach[rule] = found
        return found

    @functools.cached_property
    def analysis(self) -> Analysis:
        """What follows exactly from the rules together."""
        from policy.analysis import analyse  # noqa: PLC0415  (only its own rules pay for it)

        return analyse(self.policies, self.catalog)
