"""Rules against the catalog: what a release can never serve, and what it does by itself."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

from packaging.version import Version

from policy.analysis.boxes import Box, boxes_of, joined
from policy.analysis.engine_view import ALWAYS, Beyond, EngineView
from policy.analysis.findings import Cut, Redundant, Unserved
from policy.analysis.homes import Homes
from policy.analysis.likeness import Likeness, Seen, seen
from policy.analysis.ranked import SWITCH_IS_SET, Ranked, bits
from policy.analysis.search import Budget, OverBudget, Point, Search
from policy.analysis.space import Space
from policy.analysis.ties import Ties
from policy.analysis.unanalysable import Unanalysable
from policy.analysis.witness import settled, witness_at
from policy.decision.serving import Refusal, own_choice, refusal, with_switch
from policy.engine.release import Runner, other
from policy.facts.facts import UNKNOWN, Facts
from policy.rules.match import All, Leaf, Match, Not
from policy.rules.policy_set import Rule

__all__ = ["EngineQuestions"]


class _Reach(NamedTuple):
    """A described release, the version of it that the rule contains, and the box of the rule that reaches it."""

    release: str
    version: str
    box: int


class EngineQuestions:
    """Answers for the rules of one ranked set. Releases are read when a rule reaches them."""

    def __init__(self, ranked: Ranked, budget: Budget) -> None:
        self._ranked = ranked
        self._homes: Homes = ranked.homes
        self._budget = budget
        self._likeness: dict[str, Likeness] = {}
        self._seen: dict[str, Seen] = {}
        self._answers: dict[Hashable, bool] = {}
        self._deployments: dict[int, Facts] = {}

    # -- what a release can never serve ------------------------------------------------------------------------

    def unserved(self) -> Iterator[Unserved | Cut]:
        """Every `require` that a release in its range cannot serve, whatever the other facts."""
        for i, rule in enumerate(self._ranked.rules):
            if rule.enforce != "require" or rule.runner == "engine":
                continue
            try:
                found = self._unserved(i, rule, rule.runner)
            except (OverBudget, Beyond, Unanalysable):
                yield Cut("engine", "too much overlaps to settle whether it can be served", (rule.id,))
                continue
            if found:
                yield found

    def _unserved(self, i: int, rule: Rule, runner: Runner) -> Unserved | None:
        releases: list[str] = []
        last: Refusal | None = None
        reached = 0
        for reach in self._reaches(i):
            reached += 1
            if self._once("serves", rule, reach, lambda r: self._refusal(r, runner) is None):
                continue
            if self._once("never serves", rule, reach, lambda r: self._never_serves(rule, runner, r)):
                releases.append(reach.release)
                last = last or self._refusal(reach, runner)
        if last is None:
            return None
        return Unserved(
            rule, tuple(reversed(releases)), len(releases) == reached, last.features, last.sentences
        )

    def _never_serves(self, rule: Rule, runner: Runner, reach: _Reach) -> bool:
        matches = self._homes.view(reach.release).refused(runner, forced=True)
        return ALWAYS in matches or not self._meets(rule.match, reach.version, (), matches)

    def _refusal(self, reach: _Reach, runner: Runner) -> Refusal | None:
        view = self._homes.view(reach.release)
        if not view.refused(runner, forced=True):
            return None
        engine = view.engine
        wanted = None if engine.switch == "none" else runner
        return settled(self._facts(reach), lambda facts: refusal(engine, runner, with_switch(facts, wanted)))

    # -- what a release does by itself -------------------------------------------------------------------------

    def redundant(self) -> Iterator[Redundant | Cut]:
        """Every rule that changes no decision, because each release in its range decides like it."""
        if any(cut.what == "rules" for cut in self._ranked.cut):
            yield Cut("engine", "a rule that was left out might decide in the place of a redundant one")
            return
        for i, rule in enumerate(self._ranked.rules):
            try:
                found = self._redundant(i, rule)
            except (OverBudget, Beyond, Unanalysable):
                yield Cut(
                    "engine", "too much overlaps to settle whether the releases do it anyway", (rule.id,)
                )
                continue
            if found:
                yield found

    def _redundant(self, i: int, rule: Rule) -> Redundant | None:
        """None where the rule is of use, or where another rule would decide in its place. Raises `OverBudget`."""
        near = self._near(i)
        if rule.env or self._differs_from(near, i, rule):
            return None
        runner = rule.runner
        reached = [*self._reaches(i)]
        if not reached:
            return None  # it is about releases that the catalog does not describe
        if runner != "engine":
            if any(self._known(what, rule, reach) for reach in reached for what in ("shown", rule.enforce)):
                return None
            for reach in reached:
                if self._once("shown", rule, reach, lambda r: self._shows_use(r, runner)):
                    return None
            for reach in reached:
                if self._once(
                    rule.enforce, rule, reach, lambda r: self._is_of_use(rule, runner, r.version, r.release)
                ):
                    return None
        guards = rule.enforce == "require" and any(
            self._homes.view(r.release).engine.switch != "none"
            and self._meets(All((rule.match, SWITCH_IS_SET)), r.version, (), ())
            for r in reached
        )
        releases = tuple(reach.release for reach in reversed(reached))
        return Redundant(rule, releases, guards, tuple(self._beside(near, rule)))

    def _shows_use(self, reach: _Reach, runner: Runner) -> bool:
        """Whether the rule is of use for the deployment at hand: the usual case, quickly settled."""
        view = self._homes.view(reach.release)
        return self._choice(view, reach) != runner and self._refusal(reach, runner) is None

    def _choice(self, view: EngineView, reach: _Reach) -> Runner:
        choices = view.choices()
        if choices[0].match == ALWAYS:
            return choices[0].runner  # the releases before 0.22 do not look at the deployment
        return settled(
            self._facts(reach), lambda facts: own_choice(view.engine, with_switch(facts, None)).runner
        )

    def _near(self, i: int) -> int:
        """The boxes of other rules that match somewhere with this one."""
        ranked = self._ranked
        near = 0
        for b in ranked.boxes_of_rule(i):
            near |= ranked.near(ranked.boxes[b], lists=False)
        return near & ~ranked.between(i, i + 1)

    def _differs_from(self, near: int, i: int, rule: Rule) -> bool:
        """Whether one of them would do something else in the place of the rule."""
        above = self._ranked.between(0, self._ranked.groups[i][0])
        return bool(near & ~above & ~self._alike[rule.runner, rule.enforce])

    def _beside(self, near: int, rule: Rule) -> Iterator[Rule]:
        """Those of them that decide alike where all is known, and of which it may be unknown whether they match."""
        for j in sorted({self._ranked.owner[b] for b in bits(near)}):
            beside = self._ranked.rules[j]
            if beside.runner == rule.runner and any(_may_be_unknown(leaf) for leaf in beside.match.leaves()):
                yield beside

    @functools.cached_property
    def _alike(self) -> Mapping[tuple[str, str], int]:
        """By runner and enforcement, the boxes of rules that ask for these and set no variable."""
        found: dict[tuple[str, str], int] = {}
        for j, rule in enumerate(self._ranked.rules):
            if not rule.env:
                key = (rule.runner, rule.enforce)
                found[key] = found.get(key, 0) | self._ranked.between(j, j + 1)
        return found

    def _is_of_use(self, rule: Rule, runner: Runner, version: str, release: str) -> bool:
        """Whether a deployment of the release without the switch is decided otherwise with the rule than without.

        With doubt the answer is yes: no rule is called redundant that is not.
        """
        view = self._homes.view(release)
        forced, free = view.refused(runner, forced=True), view.refused(runner, forced=False)
        instead = other(runner)
        match = rule.match
        before: list[Match] = []
        for entry in view.choices():
            if entry.runner != runner:  # the release would choose the other one
                if rule.enforce == "require":
                    if self._meets(match, version, (entry.match,), before):
                        return True
                else:
                    if self._meets(match, version, (entry.match,), [*before, *forced]):
                        return True
                    either = (*view.refused(instead, forced=True), *view.refused(instead, forced=False))
                    for refused in forced:
                        for also in dict.fromkeys(either):
                            if self._meets(match, version, (entry.match, refused, also), before):
                                return True
            elif rule.enforce == "prefer" or forced != free:
                for refused in dict.fromkeys((*forced, *free)):
                    if self._meets(match, version, (entry.match, refused), before):
                        return True
            before.append(entry.match)
        return False

    # -- asking ------------------------------------------------------------------------------------------------

    def _reaches(self, i: int) -> Iterator[_Reach]:
        """The described releases in which the rule matches something, newest first."""
        ranked = self._ranked
        met: set[str] = set()
        vllm, line = ranked.space.releases()
        for b in ranked.boxes_of_rule(i):
            box = ranked.boxes[b]
            if not ranked.reaches(box, [], overruled=False)[0]:
                continue
            for release, version in self._homes.members(line, box.scalars.get(vllm, line.full)):
                if release not in met:
                    met.add(release)
                    yield _Reach(release, version, b)

    def _facts(self, reach: _Reach) -> Facts:
        """A deployment of the rule in the release."""
        found = self._deployments.get(reach.box)
        if found is None:
            ranked = self._ranked
            point, _, _, axes = ranked.outside(ranked.boxes[reach.box], [], overruled=False)
            assert point is not None  # noqa: S101  (it reaches the release)
            witness = witness_at(point, axes, ranked.space, self._homes, [], registered=False)
            found = self._deployments[reach.box] = Facts(witness.document)
        return found.replace("vllm", reach.version)

    def _once(self, what: str, rule: Rule, reach: _Reach, ask: Callable[[_Reach], bool]) -> bool:
        """The answer for a rule in a release, asked once for all rules that are alike to the release."""
        key = self._key(what, rule, reach)
        if key is None:
            return ask(reach)
        found = self._answers.get(key)
        if found is None:
            found = self._answers[key] = ask(reach)
        return found

    def _known(self, what: str, rule: Rule, reach: _Reach) -> bool:
        """Whether it is known that the answer is yes."""
        return self._answers.get(self._key(what, rule, reach), False)

    def _key(self, what: str, rule: Rule, reach: _Reach) -> Hashable:
        """Equal for rules that are alike to the release; None where they cannot be told to be."""
        to_see = self._seen.get(rule.id)
        if to_see is None:
            to_see = self._seen[rule.id] = seen(rule.match)
        alike = self._likeness_to(reach.release).of(to_see)
        return None if alike is None else (what, rule.runner, reach.release, reach.version, alike)

    def _likeness_to(self, release: str) -> Likeness:
        found = self._likeness.get(release)
        if found is None:
            found = self._likeness[release] = Likeness(self._homes.view(release).engine)
        return found

    def _meets(
        self, match: Match, version: str, also: Sequence[Match], without: Sequence[Match]
    ) -> Point | None:
        """Whether a deployment of `version` matches `match` and all of `also`, and none of `without`."""
        positive: list[Match] = []
        negative: list[Match] = list(without)
        for some in also:
            _sort(some, positive, negative)
        space = Space([match, *positive, *negative])
        vllm, line = space.releases()
        here = Box({vllm: 1 << line.piece(Version(version))}) if len(line.samples) > 1 else Box({})
        boxes = [both for box in boxes_of(match, space) if (both := joined(box, here))]
        for some in positive:
            more = boxes_of(some, space)
            boxes = [both for box in boxes for one in more if (both := joined(box, one))]
        avoided = [box for some in negative for box in boxes_of(some, space)]
        search, ties = Search(space, self._budget), Ties(space)
        for box in boxes:
            tied, _ = ties.of(box.axes().union(*(one.axes() for one in avoided)))
            point = search.outside(box, [*avoided, *tied])
            if point is not None:
                return point
        return None


def _may_be_unknown(leaf: Leaf) -> bool:
    """Whether a deployment that says nothing of a fact leaves it open."""
    return Facts({}).value(leaf.path) is UNKNOWN


def _sort(match: Match, positive: list[Match], negative: list[Match]) -> None:
    """The parts of a match that must hold and those that must not: a `not` is avoided, which needs no expansion."""
    if isinstance(match, All):
        for term in match.terms:
            _sort(term, positive, negative)
    elif isinstance(match, Not):
        negative.append(match.term)
    else:
        positive.append(match)
