"""One policy file as lint sees it: its values, where each stands, and the rules of it that can be read."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from policy.document.source import Document
from policy.facts.fields import expand
from policy.lint.finding import Span
from policy.rules.policy_set import Rule

__all__ = ["Condition", "PolicyText", "RuleText", "Step", "TestText", "Word", "words"]

Step = str | int
# A text of a match, and where it stands.
Word = tuple[str, tuple[Step, ...]]

# Facts that name registered architectures.
ARCHITECTURE_PATHS = frozenset(
    (
        "model_config.architectures",
        "model_config.architecture",
        "speculative_config.draft_model_config.architectures",
    )
)


NESTING = frozenset(("all", "any", "not"))


class Condition(NamedTuple):
    """One fact that a match asks for. `negated` where it stands below an odd number of `not`."""

    key: str
    path: str
    value: Any
    at: tuple[Step, ...]
    negated: bool
    top: bool

    def words(self) -> list[Word]:
        """Each string that the fact is compared with, and where it stands; not what `ne` names."""
        return words(self.value, self.at)


def words(value: Any, at: tuple[Step, ...]) -> list[Word]:
    """A value, or each one of a list, that is a string, and where it stands."""
    if isinstance(value, str):
        return [(value, at)]
    listed = value if isinstance(value, list) else []
    return [(one, (*at, i)) for i, one in enumerate(listed) if isinstance(one, str)]


class PolicyText:
    """A parsed file. `rules` and `tests` are those that fit the schema; `rule.rule` is None where a match is wrong.

    `written` are the ids of all rules, and `expected` the rules that all tests name, also of those that do not fit.
    `about` are the files and folders that a file of tests is about; None for a policy, which is about itself.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.name = document.source.name
        self.rules: tuple[RuleText, ...] = ()
        self.tests: tuple[TestText, ...] = ()
        self.written: frozenset[str] = frozenset()
        self.expected: frozenset[str] = frozenset()
        self.about: tuple[str, ...] | None = None
        self.metadata: Mapping[str, Any] = {}
        self.env: Mapping[str, str] = {}

    @functools.cached_property
    def lines(self) -> Sequence[str]:
        return self.document.source.text.splitlines()

    def span(self, *at: Step, key: bool = False) -> Span:
        """Where the value at a path stands, or with `key` its key; the nearest parent where it is absent."""
        from policy.lint.spans import span_in  # noqa: PLC0415  (only findings have places, and most files none)

        return span_in(self.document.locate(at, key=key), self.lines)


class RuleText:
    """One rule that fits the schema, at `rules[index]` of its file."""

    def __init__(self, file: PolicyText, index: int, data: Mapping[str, Any], rule: Rule | None) -> None:
        self.file = file
        self.index = index
        self.data = data
        self.rule = rule
        # Not `cached_property`, whose lock takes longer than the answer where there are thousands of rules.
        self._conditions: tuple[Condition, ...] | None = None
        self._architectures: tuple[Word, ...] | None = None
        self._ranges: tuple[Word, ...] | None = None

    @property
    def id(self) -> str:
        return str(self.data["id"])

    @property
    def requires(self) -> bool:
        """Whether it is this runner or nothing."""
        return bool(self.data.get("enforce") == "require")

    @property
    def pins_v1(self) -> bool:
        """Whether it requires the runner that will go."""
        return self.requires and bool(self.data["runner"] == "v1")

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Every condition of the match, wherever it is nested."""
        found = self._conditions
        if found is None:
            found = self._conditions = self._read_conditions()
        return found

    def _read_conditions(self) -> tuple[Condition, ...]:
        at = ("rules", self.index, "match")
        match = self.data["match"]
        if NESTING.isdisjoint(match):  # most matches
            return tuple(
                [
                    Condition(key, expand(key), match[key], (*at, key), negated=False, top=True)
                    for key in match
                ]
            )
        return tuple(_conditions(match, at, negated=False, top=True))

    @property
    def architectures(self) -> tuple[Word, ...]:
        """Each architecture, or pattern of some, that the match names, and where."""
        found = self._architectures
        if found is None:
            named = [c for c in self.conditions if c.path in ARCHITECTURE_PATHS]
            found = self._architectures = tuple([word for c in named for word in c.words()])
        return found

    def differing(self) -> Iterator[Word]:
        """Each architecture, or pattern of some, that a model must not have by `ne`, and where."""
        for c in self.conditions:
            if (
                c.value.__class__ is dict
                and c.path in ARCHITECTURE_PATHS
                and isinstance(c.value.get("ne"), str)
            ):
                yield c.value["ne"], (*c.at, "ne")

    @property
    def ranges(self) -> tuple[Word, ...]:
        """Each release range of a match that could be read, and where it stands."""
        found = self._ranges
        if found is None:
            of_vllm = [c for c in self.conditions if c.path == "vllm"] if self.rule is not None else []
            found = self._ranges = tuple([word for c in of_vllm for word in c.words()])
        return found

    def span(self, *at: Step, key: bool = False) -> Span:
        """Where a field of the rule stands; without a path, its id."""
        return self.file.span("rules", self.index, *(at or ("id",)), key=key)


class TestText:
    """One test that fits the schema. `at` is its path in the file that holds it, `facts` its `given` as it nests."""

    __slots__ = ("at", "entry", "expect", "facts", "file", "given", "name")
    __test__ = False

    def __init__(
        self, file: PolicyText, at: tuple[Step, ...], entry: Mapping[str, Any], facts: Mapping[str, Any]
    ) -> None:
        self.file = file
        self.at = at
        self.entry = entry
        self.given: Mapping[str, Any] = entry["given"]
        self.expect: Mapping[str, Any] = entry["expect"]
        self.name: str = entry.get("name") or f"test {int(at[-1]) + 1}"
        self.facts = facts

    def span(self, *at: Step, key: bool = False) -> Span:
        """Where a part of the test stands; without a path, its name, or what is given where it has none.

        That of a mapping is that of its first key, and another one after `fmt`: a comment would silence another line.
        """
        if at:
            return self.file.span(*self.at, *at, key=key)
        return self.file.span(*self.at, "name" if "name" in self.entry else "given", key=True)


def _conditions(
    match: Mapping[str, Any], at: tuple[Step, ...], *, negated: bool, top: bool
) -> Iterator[Condition]:
    for key, value in match.items():
        here = (*at, key)
        if key == "not":
            yield from _conditions(value, here, negated=not negated, top=False)
        elif key in ("any", "all"):
            for i, item in enumerate(value):
                yield from _conditions(item, (*here, i), negated=negated, top=False)
        else:
            yield Condition(key, expand(key), value, here, negated, top)
