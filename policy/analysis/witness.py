"""From a point of the space to a facts document, and what the resolver says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from packaging.version import Version

from policy.analysis.axis import OPAQUE, Axis
from policy.analysis.findings import Witness
from policy.analysis.homes import Homes
from policy.analysis.ranked import bits
from policy.analysis.search import Point
from policy.analysis.space import Space
from policy.decision.decision import Decision
from policy.decision.resolve import resolve
from policy.decision.serving import Undecided
from policy.facts.facts import ABSENT, Facts, holder_of
from policy.facts.fields import field
from policy.rules.match import unknown_facts
from policy.rules.policy_set import PolicySet

__all__ = ["decide", "decide_all", "settled", "several", "witness_at"]

Answer = TypeVar("Answer")
PLAIN_VERSION = Version("1.0")
# Facts that the resolver may ask for beyond those of the point, one after the other.
MOST_FILLED = 64


def witness_at(
    point: Point,
    axes: Iterable[int],
    space: Space,
    homes: Homes,
    policies: Sequence[PolicySet],
    *,
    registered: bool = True,
) -> Witness:
    """A document at `point`: every fact of `axes` has a value, and no rule of `policies` is left unknown.

    With `registered` the architectures are, where the rules allow it, names that the release registers.
    """
    document: dict[str, Any] = {}
    for at in sorted(axes, key=lambda a: space.axes[a].path):
        axis = space.axes[at]
        if axis.path == "vllm":
            continue
        if axis.whole:
            _put(document, axis.path, _value(axis, point.scalars.get(at, axis.full)))
    vllm, line = space.releases()
    document["vllm"] = homes.nice(line, point.scalars.get(vllm, line.full))
    for at in sorted(axes, key=lambda a: space.axes[a].path):
        axis = space.axes[at]
        if not axis.whole and not _is_off(at, point, space):
            elements = _elements(at, axis, point)
            if registered and axis.path == "model_config.architectures":
                elements = [_registered(axis, name, document["vllm"], homes) for name in elements]
            _set(document, axis.path, _list(axis, elements))
    known = _known(document, policies)
    return Witness(known, homes.assumed(document["vllm"]))


def decide(policies: PolicySet, witness: Witness, homes: Homes) -> Decision:
    """What `resolve` answers for a witness."""
    engine = homes.catalog.find(witness.document["vllm"], witness.assume)
    return resolve(policies, engine, Facts(witness.document))


def decide_all(
    policies: Sequence[PolicySet], witness: Witness, homes: Homes
) -> tuple[Witness, list[Decision]]:
    """The decisions of several policy sets, and the witness with plain values for facts that they hang on."""
    for _ in range(MOST_FILLED):
        decisions = [decide(some, witness, homes) for some in policies]
        missing = next((path for decision in decisions for path in decision.missing_facts), None)
        if missing is None:
            break
        filled = Facts(witness.document).replace(missing, _plain(missing)).document
        witness = witness._replace(document={k: v for k, v in filled.items() if k != "unknown"})
    return witness, decisions


def settled(facts: Facts, ask: Callable[[Facts], Answer]) -> Answer:
    """The answer for `facts`; where it hangs on a fact that is not given, with a plain value for it."""
    for _ in range(MOST_FILLED):
        try:
            return ask(facts)
        except Undecided as undecided:
            facts = facts.replace(undecided.paths[0], _plain(undecided.paths[0]))
    return ask(facts)


def several(point: Point, axes: Iterable[int], space: Space) -> tuple[str, ...]:
    """The lists that have to hold more than one element."""
    return tuple(
        sorted(
            space.axes[a].path
            for a in axes
            if not space.axes[a].whole and len(_elements(a, space.axes[a], point)) > 1
        )
    )


def _value(axis: Axis, mask: int) -> Any:
    if mask & axis.absent and _default(axis.path) is None:
        return ABSENT
    if axis.line is not None and mask >> axis.line.piece(PLAIN_VERSION) & 1:
        return str(PLAIN_VERSION)
    return axis.values[axis.liked(mask)]


def _registered(axis: Axis, name: Any, vllm: str, homes: Homes) -> Any:
    """An architecture that the release registers and no rule tells apart from `name`, if there is one."""
    known = axis.registered(homes.architectures(vllm))
    return known.get(axis.part(name), name) if known else name


def _elements(at: int, axis: Axis, point: Point) -> list[Any]:
    needs = [need for a, need in point.needs if a == at]
    chosen = 0
    for i, need in enumerate(needs):
        if not need & chosen:
            shared = need
            for other in needs[i + 1 :]:
                shared = shared & other or shared
            chosen |= 1 << axis.liked(shared)
    if not chosen:  # one that no rule names, if it may be there
        allowed = point.allowed.get(at, axis.full)
        chosen = 1 << (allowed.bit_length() - 1) if allowed else 0
    return [axis.values[i] for i in bits(chosen)]


def _list(axis: Axis, elements: list[Any]) -> Any:
    known = field(axis.path)
    types = known.types if known else ()
    if len(elements) == 1 and ({"number", "object"} & set(types) or elements[0] is OPAQUE):
        return {} if elements[0] is OPAQUE else elements[0]
    return elements


def _is_off(axis: int, point: Point, space: Space) -> bool:
    """Whether the list of an axis is not there at all."""
    here = space.presence(space.axes[axis].path)
    there = space.axes[here]
    return _value(there, point.scalars.get(here, there.full)) is ABSENT


def _put(document: dict[str, Any], path: str, value: Any) -> None:
    """A value of a fact, left out where it is what a document without it says."""
    known = field(path)
    if known is None:
        raise KeyError(path)
    if value is ABSENT:
        if known.default is not None and not _is_below_nothing(document, path):
            _set(document, path, None)
    elif value is OPAQUE:
        if set(known.types) != {"object"}:
            _set(document, path, [] if "array" in known.types and "object" not in known.types else {})
    elif value != known.default or isinstance(value, bool) != isinstance(known.default, bool):
        _set(document, path, value)


def _default(path: str) -> Any:
    known = field(path)
    return None if known is None else known.default


def _is_below_nothing(document: dict[str, Any], path: str) -> bool:
    """Whether an object above is off, so that nothing need be said."""
    node: Any = document
    at = ""
    for step in path.split(".")[:-1]:
        at = f"{at}.{step}" if at else step
        if isinstance(node, dict) and step in node:
            node = node[step]
        else:
            return _default(at) is None
        if node is None:
            return True
    return False


def _set(document: dict[str, Any], path: str, value: Any) -> None:
    node, last = holder_of(document, path)
    if value != {} or not isinstance(node.get(last), dict):
        node[last] = value


def _known(document: dict[str, Any], policies: Sequence[PolicySet]) -> dict[str, Any]:
    """The document with a value for every other fact on which a rule hangs."""
    facts = Facts(document)
    for _ in range(MOST_FILLED):
        missing = next(
            (
                path
                for some in policies
                for rule in some.rules
                if rule.match.value(facts) is None
                for path in unknown_facts(rule.match, facts)
            ),
            None,
        )
        if missing is None:
            break
        facts = facts.replace(missing, _plain(missing))
    known = dict(facts.document)
    known.pop("unknown", None)
    return known


def _plain(path: str) -> Any:
    """A value for a fact that nothing was asked of."""
    known = field(path)
    if known is None or "null" in known.types:
        return None
    if known.enum:
        return known.enum[0]
    first = known.types[0]
    return {"boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}.get(first, "other")
