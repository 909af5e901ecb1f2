"""A policy set made ready for questions: its rules in the order in which they decide, each as boxes of one space."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from policy.analysis.boxes import Box, boxes_of, of_conditions
from policy.analysis.findings import Cut
from policy.analysis.homes import Homes
from policy.analysis.search import Budget, Point, Search
from policy.analysis.space import Condition, Space
from policy.analysis.ties import Ties
from policy.analysis.unanalysable import Unanalysable
from policy.facts.fields import SWITCH
from policy.memory import remember
from policy.rules.match import Exists, Leaf, Match, Not
from policy.rules.policy_set import PolicySet, Rule

__all__ = ["SWITCH_IS_SET", "Ranked", "bits", "space_of"]

# Of more sets of values on an axis, each part of it is asked and not each set.
MANY_SETS = 32
# So many bits are sooner found in the number as text: to take the lowest away makes the whole number anew.
MANY_BITS = 16


def bits(mask: int) -> Iterator[int]:
    """The indices of the bits that are set, lowest first."""
    if mask.bit_count() > MANY_BITS:
        text = bin(mask)[:1:-1]
        at = text.find("1")
        while at >= 0:
            yield at
            at = text.find("1", at + 1)
        return
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class Ranked:
    """`rules[i]` outranks every later rule; its boxes are `boxes[starts[i]:starts[i + 1]]`.

    Rules that the space cannot express are in `cut` and not in `rules`.
    """

    def __init__(self, policies: PolicySet, homes: Homes, budget: Budget, space: Space | None = None) -> None:
        """`space` is one that was made for these policies among others (see `space_of`)."""
        self.policies = policies
        self.homes = homes
        self.cut: list[Cut] = []
        self.rules: list[Rule] = []
        self.boxes: list[Box] = []
        self.owner: list[int] = []
        self.starts: list[int] = [0]
        switched = any(_asks(rule.match, f"env.{SWITCH}") for rule in policies.rules)
        self._switch: Leaf | None = SWITCH_IS_SET if switched else None
        self.space = space or space_of([policies], homes, switched=switched)
        for rule in policies.rules:
            try:
                self._add(rule, boxes_of(rule.match, self.space))
            except Unanalysable as problem:
                self.cut.append(Cut("rules", str(problem), (rule.id,)))
        self.search = Search(self.space, budget)
        self.groups = self._groups()
        self._index()

    def _add(self, rule: Rule, found: list[Box]) -> None:
        self.owner += [len(self.rules)] * len(found)
        self.boxes += found
        self.rules.append(rule)
        self.starts.append(len(self.boxes))

    def _groups(self) -> list[tuple[int, int]]:
        """For each rule the first and the last (not included) of those with equal weight."""
        keys = [(r.enforce, r.priority if r.enforce == "prefer" else 0) for r in self.rules]
        found: list[tuple[int, int]] = []
        first = 0
        for i in range(1, len(keys) + 1):
            if i == len(keys) or keys[i] != keys[first]:
                found += [(first, i)] * (i - first)
                first = i
        return found

    # -- which boxes can matter ------------------------------------------------------------------------------

    def _index(self) -> None:
        """For each axis its sets of values, and which boxes have which: sets of boxes are bit masks, too."""
        self.all_boxes = (1 << len(self.boxes)) - 1
        self._scalar: dict[int, dict[int, int]] = {}
        self._some: dict[int, dict[int, int]] = {}
        self._wide: set[int] = set()  # lists of which a box says something of all elements
        for i, box in enumerate(self.boxes):
            bit = 1 << i
            for axis, mask in box.scalars.items():
                by_mask = self._scalar.setdefault(axis, {})
                by_mask[mask] = by_mask.get(mask, 0) | bit
            for axis, mask in box.somes:
                by_mask = self._some.setdefault(axis, {})
                by_mask[mask] = by_mask.get(mask, 0) | bit
            self._wide.update(axis for axis, _ in box.alls)
        self._apart: dict[tuple[int, int, bool], int] = {}
        self._lines: dict[int, tuple[list[int], list[int]]] = {}
        self._covers: dict[tuple[int, bool], tuple[int, list[int]]] = {}
        self._near: dict[int, tuple[Box, int, int]] = {}  # each box is asked about several times
        self.ties = Ties(self.space)

    def near(self, box: Box, *, lists: bool = True) -> int:
        """The boxes that may share a point with `box`, as a bit mask.

        With `lists`, lists hold no more elements than `box` needs, which loses nothing for the question what lies
        outside of others: an element more only makes more of them match. (Not so where one asks for all elements.)
        """
        known = self._near.get(id(box))
        if known is None or known[0] is not box:
            # The box is kept with it, so that no other gets its id.
            known = remember(self._near, id(box), (box, *self._near_to(box)))
        return known[1] if lists else known[2]

    def _near_to(self, box: Box) -> tuple[int, int]:
        """What `near` says with `lists` and without."""
        found = self.all_boxes
        for axis, mask in box.scalars.items():
            if axis in self._scalar:
                found &= ~self._apart_from(axis, mask, some=False)
        listed = found
        for axis in self._some:
            if axis not in self._wide:
                listed &= ~self._apart_from(axis, _needed(box, axis), some=True)
        return listed, found

    def _apart_from(self, axis: int, mask: int, *, some: bool) -> int:
        """The boxes whose set of values on an axis shares none with `mask`."""
        key = (axis, mask, some)
        found = self._apart.get(key)
        if found is None:
            by_mask = (self._some if some else self._scalar)[axis]
            found = 0
            if len(by_mask) <= MANY_SETS:
                for other, which in by_mask.items():
                    if not other & mask:
                        found |= which
            elif self.space.axes[axis].ascends and not some:
                before, after = self._ends(axis)
                found = before[(mask & -mask).bit_length() - 1] | after[mask.bit_length() - 1]
            else:
                touched, covers = self._cover(axis, some=some)
                for part in bits(mask):
                    found |= covers[part]
                found = touched & ~found
            self._apart[key] = found
        return found

    def _ends(self, axis: int) -> tuple[list[int], list[int]]:
        """For each part of an axis the boxes that end before it, and those that begin after it: ranges are apart by
        their ends. (A set with a gap in it may be apart from another within the gap, and is then looked at in vain.)"""
        if axis not in self._lines:
            count = len(self.space.axes[axis].values)
            before, after = [0] * (count + 1), [0] * (count + 1)
            for mask, which in self._scalar[axis].items():
                before[mask.bit_length()] |= which
                after[(mask & -mask).bit_length() - 1] |= which
            for piece in range(1, count + 1):
                before[piece] |= before[piece - 1]
            for piece in range(count - 1, -1, -1):
                after[piece] |= after[piece + 1]
            self._lines[axis] = before, after[1:]
        return self._lines[axis]

    def _cover(self, axis: int, *, some: bool) -> tuple[int, list[int]]:
        """The boxes that say something of an axis, and for each of its parts those that hold there."""
        if (axis, some) not in self._covers:
            covers = [0] * len(self.space.axes[axis].values)
            touched = 0
            for mask, which in (self._some if some else self._scalar)[axis].items():
                touched |= which
                for part in bits(mask):
                    covers[part] |= which
            self._covers[axis, some] = touched, covers
        return self._covers[axis, some]

    # -- questions -------------------------------------------------------------------------------------------

    @functools.cached_property
    def _axes(self) -> list[frozenset[int]]:
        return [frozenset(box.axes()) for box in self.boxes]

    def outside(
        self, box: Box, others: Sequence[int], *, overruled: bool
    ) -> tuple[Point | None, set[int], bool, set[int]]:
        """A point of `box` in none of the boxes with the indices `others`, nor, with `overruled`, where the
        operator's switch decides. With it: the rules that the answer rests on, whether on the switch, and the
        axes that count. Raises `OverBudget`."""
        axes = box.axes()
        avoided = [self.boxes[i] for i in others]
        axes.update(*[self._axes[i] for i in others])
        switches = self._switches if overruled else (None,)
        ties: list[Box] | None = None
        for switch in switches:
            if switch is not None:
                axes |= switch.axes()
            ties, axes = self.ties.of(axes)
            narrow = self._narrowed(box, axes)
            point = self.search.outside(narrow, [*avoided, *([switch] if switch else ()), *ties])
            if point is not None:
                break
        used = {self.owner[others[i]] for i in self.search.used if i < len(others)}
        return point, used, switch is not None and len(others) in self.search.used, axes

    def reaches(self, box: Box, others: Sequence[int], *, overruled: bool) -> tuple[bool, set[int], bool]:
        """Whether `box` reaches beyond the others, and what the answer rests on: `outside` without the point.

        Asked without the ties first. Who finds a region in which every fact can be there, with the objects above it
        on, has found a deployment.
        """
        if not others and not (overruled and self._switch):
            if self._can_all_be_there(box.scalars):
                return True, set(), False
        elif not overruled or not self._switch:
            axes = box.axes().union(*[self._axes[i] for i in others])
            point = self.search.outside(self._narrowed(box, axes), [self.boxes[i] for i in others])
            if point is None:
                return False, {self.owner[others[i]] for i in self.search.used}, False
            if self._can_all_be_there(point.scalars):
                return True, set(), False
        point, used, switch, _ = self.outside(box, others, overruled=overruled)
        return point is not None, used, switch

    def _can_all_be_there(self, scalars: Mapping[int, int]) -> bool:
        axes = self.space.axes
        return all(mask & ~axes[axis].absent for axis, mask in scalars.items()) and not self.space.has_free

    def _narrowed(self, box: Box, axes: Iterable[int]) -> Box:
        """The box with lists that hold what is needed and no more, where that loses nothing."""
        lists = [
            a for a in axes if self.space.is_list(a) and a not in self._wide and not self.space.tied_wide(a)
        ]
        if not lists:
            return box
        return Box(box.scalars, box.somes, (*box.alls, *((a, _needed(box, a)) for a in lists)))

    @property
    def _switches(self) -> Iterator[Box | None]:
        """Where the operator's switch overrules every `prefer`: roughly, then exactly. Reading which releases know
        the switch at all is seldom needed. None where no rule asks for the switch."""
        if self._switch is None:
            yield None
            return
        on = self.space.condition(self._switch, holds=True)
        yield of_conditions([on], self.space)
        vllm, line = self.space.releases()
        known: Condition = (vllm, "is", self.homes.pieces(line, lambda r: r.switch != "none"))
        yield of_conditions([on, known], self.space)

    def listed(self, boxes: int) -> list[int]:
        """The indices of a set of boxes that a question is about. Raises `OverBudget` where they are too many."""
        self.search.allow(boxes.bit_count())
        return [*bits(boxes)]

    def wanting_else(self, rule: Rule) -> int:
        """The boxes of rules that want another runner than `rule`, or another value of a variable."""
        found = self.all_boxes & ~self._wishes["runner", rule.runner]
        for name, value in rule.env.items():
            found |= self._wishes["sets", name] & ~self._wishes["to", name, value]
        return found

    @functools.cached_property
    def _wishes(self) -> dict[tuple[str, ...], int]:
        """Which boxes are of rules that want what."""
        found: dict[tuple[str, ...], int] = {}
        for j, rule in enumerate(self.rules):
            own = self.between(j, j + 1)
            wishes: list[tuple[str, ...]] = [("runner", rule.runner)]
            for name, value in rule.env.items():
                wishes += [("sets", name), ("to", name, value)]
            for wish in wishes:
                found[wish] = found.get(wish, 0) | own
        return found

    def boxes_of_rule(self, rule: int) -> range:
        return range(self.starts[rule], self.starts[rule + 1])

    def between(self, first: int, last: int) -> int:
        """The boxes of the rules from `first` to `last` (not included), as a bit mask."""
        return (1 << self.starts[last]) - (1 << self.starts[first])


def space_of(sets: Iterable[PolicySet], homes: Homes, *, switched: bool) -> Space:
    """The space of the rules of all `sets`; with `switched` it tells apart whether the switch is set, and where."""
    matches = [rule.match for policies in sets for rule in policies.rules]
    return Space(matches, homes.cuts if switched else (), [SWITCH_IS_SET] if switched else [])


SWITCH_IS_SET = Leaf(f"env.{SWITCH}", (Exists(wanted=True),))


def _asks(match: Match, path: str) -> bool:
    if isinstance(match, Leaf):
        return match.path == path
    return _asks(match.term, path) if isinstance(match, Not) else any(_asks(t, path) for t in match.terms)


def _needed(box: Box, axis: int) -> int:
    found = 0
    for a, mask in box.somes:
        if a == axis:
            found |= mask
    return found
