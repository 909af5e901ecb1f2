"""Two policy sets compared by meaning: the deployments that get another decision, found from the rules that changed.

Where no changed rule is among those that decide, on neither side, the same rules decide. So each changed rule is
taken where it decides, apart from what outranks it, and split by the rules that decide there before and after.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from policy.analysis.boxes import EVERYTHING, Box, joined
from policy.analysis.findings import Cut, Difference, Differences, Witness
from policy.analysis.homes import Homes
from policy.analysis.meaning import asked, changed, deciding, meaning
from policy.analysis.ranked import Ranked, bits, space_of
from policy.analysis.search import LIMIT, Budget, OverBudget, Point
from policy.analysis.variants import variants
from policy.analysis.witness import decide, decide_all, witness_at
from policy.decision.decision import Decision
from policy.engine.catalog import Catalog
from policy.facts.facts import Facts
from policy.rules.policy_set import PolicySet, Rule

__all__ = ["differences"]

MOST_TELLING = 3
# Once a deployment shows a difference, so many more are tried for one that tells more.
MOST_AFTER = 40


def differences(old: PolicySet, new: PolicySet, catalog: Catalog, *, limit: int = LIMIT) -> Differences:
    """Where `new` decides otherwise than `old`: status, runner, variables to set and unset, codes of errors.

    One checked witness for each pair of deciders and for what they ask. `Differences.cut` says what was not
    settled. Names, order, files, reasons and layout make no difference, and neither do warnings.
    """
    return _Comparison(old, new, Homes.of(catalog), limit).all()


class _Cell(NamedTuple):
    """A part of the space, and the rules (by index) that are known to decide in it on either side."""

    box: Box
    avoided: tuple[Box, ...]
    old: tuple[int, ...] = ()
    new: tuple[int, ...] = ()


class _Comparison:
    def __init__(self, old: PolicySet, new: PolicySet, homes: Homes, limit: int) -> None:
        self.homes = homes
        self.old, self.new = old, new
        # Variables for every launch are compared once; rules then with the same ones on both sides.
        self.renewed = PolicySet(new.files, new.rules, old.env)
        budget = Budget(limit)
        self.space = space_of([old, new], homes, switched=True)
        self.before = Ranked(old, homes, budget, self.space)
        self.after = Ranked(self.renewed, homes, budget, self.space)
        self.found: dict[Hashable, Difference] = {}
        self.alike: dict[tuple[str, ...], None] = {}

    def all(self) -> Differences:
        cut = [*self.before.cut, *self.after.cut]
        env = list(self._env())
        gone, come = changed(self.old, self.new)
        for side, rules in ((self.before, gone), (self.after, come)):
            for rule in rules:
                try:
                    self._follow(side, rule)
                except OverBudget:
                    why = "too many rules overlap with it to settle what its change does"
                    cut.append(Cut("differences", why, (rule.id,)))
        return Differences((*env, *self.found.values()), tuple(self.alike), tuple(dict.fromkeys(cut)))

    def _env(self) -> Iterator[Difference]:
        """One deployment for another `env:` of the policies, which every launch gets."""
        if self.old.env == self.new.env:
            return
        rules = [(side, i) for side in (self.before, self.after) for i in range(len(side.rules))]
        for avoided in ([b for side in (self.before, self.after) for b in side.boxes], []):
            for box in (EVERYTHING, *(side.boxes[b] for side, i in rules for b in side.boxes_of_rule(i))):
                try:
                    found = self._point(_Cell(box, tuple(avoided)))
                except OverBudget:
                    continue
                if found is None:
                    continue
                witness = witness_at(*found, self.space, self.homes, [self.old, self.new])
                witness, (one, other) = decide_all([self.old, self.new], witness, self.homes)
                if meaning(one, witness.document) != meaning(other, witness.document):
                    facts = Facts(witness.document)
                    first = [next((r.id for r in deciding(p, facts)), None) for p in (self.old, self.new)]
                    yield Difference(first[0], first[1], witness, one, other)
                    return

    def _follow(self, side: Ranked, rule: Rule) -> None:
        """Finds what a changed rule does where nothing outranks it on its side. Raises `OverBudget`."""
        i = next((i for i, other in enumerate(side.rules) if other is rule or other.id == rule.id), None)
        if i is None:
            return  # it is among the cut ones
        above = side.between(0, side.groups[i][0])
        for b in side.boxes_of_rule(i):
            box = side.boxes[b]
            avoided = tuple(side.boxes[o] for o in bits(side.near(box, lists=False) & above))
            for cell in self._split(_Cell(box, avoided), self.before, 0):
                self._compare(cell)

    def _split(self, cell: _Cell, side: Ranked, start: int) -> Iterator[_Cell]:
        """The parts of a cell with the rules that decide in each: first those of `old`, then those of `new`."""
        near = side.near(cell.box, lists=False)
        owners = sorted({side.owner[o] for o in bits(near)})
        deciding = cell.old if side is self.before else cell.new
        for i in owners:
            if i < start:
                continue
            if deciding and side.groups[deciding[0]] != side.groups[i]:
                break  # only rules of the same weight decide together
            together = (*deciding, i)
            if _asked(side, together) == _asked(side, deciding):
                continue
            boxes = [side.boxes[b] for b in side.boxes_of_rule(i)]
            for box in boxes:
                both = joined(cell.box, box)
                if both is None:
                    continue
                part = cell._replace(box=both)
                part = part._replace(old=together) if side is self.before else part._replace(new=together)
                if self._point(part) is not None:
                    yield from self._split(part, side, i + 1)
            cell = cell._replace(avoided=(*cell.avoided, *boxes))
            if self._point(cell) is None:
                return
        if side is self.before:
            yield from self._split(cell, self.after, 0)
        else:
            yield cell

    def _point(self, cell: _Cell) -> tuple[Point, set[int]] | None:
        axes = cell.box.axes().union(*(box.axes() for box in cell.avoided))
        ties, axes = self.before.ties.of(axes)
        point = self.before.search.outside(cell.box, [*cell.avoided, *ties])
        return None if point is None else (point, axes)

    def _compare(self, cell: _Cell) -> None:
        """Looks for a deployment in a cell for which the two decisions differ."""
        old, new = _asked(self.before, cell.old), _asked(self.after, cell.new)
        names = (_first(self.before, cell.old), _first(self.after, cell.new))
        if old == new or (*names, old, new) in self.found:
            return
        found = self._point(cell)
        if found is None:
            return
        point, axes = found
        best: tuple[int, Difference] | None = None
        after = 0
        for candidate in self._witnesses(point, axes):
            if not self._is_in(candidate, cell):
                continue
            difference, telling = self._shown(candidate, names)
            if difference is not None and (best is None or telling > best[0]):
                best = (telling, difference)
            after += best is not None
            if best is not None and (best[0] == MOST_TELLING or after > MOST_AFTER):
                break
        if best is None:
            self.alike.setdefault(tuple(name for name in dict.fromkeys(names) if name))
        else:
            self.found[*names, old, new] = best[1]

    def _shown(
        self, candidate: Witness, names: tuple[str | None, str | None]
    ) -> tuple[Difference | None, int]:
        """The difference that a deployment shows, if it does, and how much it tells: another runner or status is
        more than other variables, and rules that decide themselves are more than the operator's switch."""
        witness, (one, other) = decide_all([self.old, self.renewed], candidate, self.homes)
        if meaning(one, witness.document) == meaning(other, witness.document):
            return None, 0
        telling = 2 * ((one.status, one.runner) != (other.status, other.runner)) + (
            names == (_by(one), _by(other))
        )
        shown = decide(self.new, witness, self.homes) if self.new.env != self.old.env else other
        return Difference(*names, witness, one, shown), telling

    def _is_in(self, witness: Witness, cell: _Cell) -> bool:
        """Whether the same rules decide for a witness as in the cell, on both sides."""
        facts = Facts(witness.document)
        return all(
            asked(found := deciding(side.policies, facts)) == _asked(side, some)
            and (found[0].id if found else None) == _first(side, some)
            for side, some in ((self.before, cell.old), (self.after, cell.new))
        )

    def _witnesses(self, point: Point, axes: set[int]) -> Iterator[Witness]:
        base = witness_at(point, axes, self.space, self.homes, [self.old, self.new])
        yield base
        yield from variants(base, point, self.space, self.homes)


def _asked(side: Ranked, deciding: Sequence[int]) -> Hashable:
    return asked([side.rules[i] for i in deciding])


def _first(side: Ranked, deciding: Sequence[int]) -> str | None:
    return side.rules[deciding[0]].id if deciding else None


def _by(decision: Decision) -> str | None:
    by = decision.decided_by
    return by.rule if by is not None and by.layer == "policy" else None
