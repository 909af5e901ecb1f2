"""Random deployments, drawn where decisions change: from the values that rules and vLLM's own code compare with."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from policy.engine.release import EngineRelease
from policy.engine.source.deciding import DecidingCode
from policy.facts.facts import nest
from policy.facts.fields import SWITCH, Field, field
from policy.rules.match import Compare, Differs, Equal, Leaf, Test

__all__ = ["Population", "constants_of"]

SWITCH_VALUES = ("0", "1", "1", "0", "2", "-1", " 1 ", "00", "true", "", "1.0")
PLATFORMS = ("cuda", "cuda", "rocm", "xpu", "cpu", "tpu", "unspecified", "npu")
# In no catalog rule, and not to change anything: a rule or function that looks at them would show.
BYSTANDERS = (
    "cache_config.enable_prefix_caching",
    "model_config.enforce_eager",
    "model_config.is_encoder_decoder",
    "model_config.is_multimodal_model",
    "parallel_config.data_parallel_size",
    "parallel_config.enable_expert_parallel",
    "parallel_config.ubatch_size",
    "scheduler_config.async_scheduling",
    "speculative_config.num_speculative_tokens_per_batch_size",
)
SPECULATION = "speculative_config.method"


def constants_of(code: DecidingCode) -> frozenset[str]:
    """The short words in deciding code: methods, architectures and modes that no rule may have heard of yet."""
    return frozenset(
        node.value
        for node in code.nodes()
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.isidentifier()
        and len(node.value) < 60
    )


class Population:
    """What to draw from: values that the rules of `engines` mention, most of them aimed at one rule of `focus`.

    The facts drawn may grow (`add_paths`) as vLLM's code turns out to read more.
    """

    def __init__(
        self,
        focus: EngineRelease,
        engines: Iterable[EngineRelease] = (),
        words: Iterable[str] = (),
        architectures: Sequence[str] = (),
    ) -> None:
        self._values: dict[str, set[Any]] = {}
        self._aims = [aim for match in focus.matches() if (aim := tuple(match.leaves()))]
        for engine in (focus, *engines):
            for match in engine.matches():
                for leaf in match.leaves():
                    self._learn(leaf)
            listed = engine.default_v2_architectures or {}
            self._values.setdefault("model_config.architectures", set()).update(listed)
        self._words = sorted(words)
        self._architectures = list(architectures)
        for path in BYSTANDERS:
            self._values.setdefault(path, set())

    def add_paths(self, paths: Iterable[str]) -> None:
        """Draw values for these facts too."""
        for path in paths:
            self._values.setdefault(path, set())

    def _learn(self, leaf: Leaf) -> None:
        if field(leaf.path) is None or leaf.path.startswith("env."):
            return  # derived by the resolver; the switch is drawn by itself
        values = self._values.setdefault(leaf.path, set())
        for test in leaf.tests:
            values.update(_around(test))

    def draw(self, count: int, seed: int) -> Iterator[dict[str, Any]]:
        """`count` facts documents, the same for the same seed and history."""
        source = random.Random(seed)  # noqa: S311
        for _ in range(count):
            yield self._document(source)

    def _document(self, source: random.Random) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        if source.random() < 0.5:
            entries[f"env.{SWITCH}"] = source.choice(SWITCH_VALUES if source.random() < 0.2 else ("0", "1"))
        if source.random() < 0.4:
            entries["platform"] = source.choice(PLATFORMS)
        paths = sorted(self._values)
        wanted = source.sample(paths, min(len(paths), source.choice((0, 1, 1, 2, 2, 3, 4, 6, 9, 14))))
        if any(path.startswith("speculative_config.") for path in wanted) and source.random() < 0.8:
            wanted.append(SPECULATION)
        if source.random() < 0.5:
            wanted.append("model_config.architectures")
        for path in wanted:
            if path not in ("platform", f"env.{SWITCH}"):
                entries[path] = self._value(path, source)
        if self._aims and source.random() < 0.6:
            self._aim(entries, source)
        return _consistent(entries)

    def _aim(self, entries: dict[str, Any], source: random.Random) -> None:
        """Make one or two rules nearly true: each fact that they ask for mostly has a value that they mention."""
        for leaf in (leaf for aim in source.sample(self._aims, min(2, len(self._aims))) for leaf in aim):
            mentioned = sorted({value for test in leaf.tests for value in _around(test)}, key=str)
            if leaf.path == f"env.{SWITCH}":
                entries[leaf.path] = source.choice(("0", "1", "1"))
            elif (known := field(leaf.path)) is not None and source.random() < 0.8:
                value = source.choice(mentioned) if mentioned else self._value(leaf.path, source)
                is_list = leaf.path.endswith("layer_types") or known.types[0] == "array"
                entries[leaf.path] = (
                    [value, *self._value(leaf.path, source)] if is_list and mentioned else value
                )
            if isinstance(entries.get(leaf.path), list):
                source.shuffle(entries[leaf.path])

    def _value(self, path: str, source: random.Random) -> Any:
        known = field(path)
        if known is None:
            return None
        pool = [*self._values.get(path, ()), *(v for v in known.enum if v is not None)]
        if path.endswith("layer_types") or ("array" in known.types and not known.is_object):
            return self._list(path, pool, source)
        pool += _by_type(known, self._words)
        pool.sort(key=lambda value: (type(value).__name__, str(value)))
        return source.choice(pool) if pool else None

    def _list(self, path: str, pool: list[Any], source: random.Random) -> list[Any]:
        pool = sorted({str(value) for value in pool} | {w for w in self._words if w[0].isupper()})
        if path == "model_config.architectures":
            pool += source.sample(self._architectures, min(len(self._architectures), 10))
        elif path.endswith("layer_types"):
            pool = ["sliding_attention", "full_attention", "chunked_attention"]
        elif not path.endswith("architectures"):
            return [] if source.random() < 0.3 else _list_of(path)
        return [source.choice(pool) for _ in range(source.choice((0, 1, 1, 1, 2, 2, 3)))]


def _around(test: Test) -> set[Any]:
    if isinstance(test, (Equal, Differs)):
        return {test.value}
    if isinstance(test, Compare):
        return {int(test.bound) - 1, int(test.bound), int(test.bound) + 1} - {-1, 0}
    return set()


def _by_type(known: Field, words: Sequence[str]) -> list[Any]:
    values: list[Any] = []
    for type_ in known.types:
        if type_ == "boolean":
            values += [True, False]
        elif type_ == "integer":
            values += [1, 2, 4]
        elif type_ == "string" and not known.enum:
            values += [*words, "something-else"]
        elif type_ == "object":
            values += [{}]
        elif type_ == "null":
            values += [None]
    return values


def _list_of(path: str) -> list[Any]:
    known = field(path)
    items = "[[1, 4]]" if known and path.endswith("per_batch_size") else ""
    return [[1, 4]] if items else ["my.module:Thing"]


def _consistent(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Nested facts; a config object that is off has no fields below it."""
    off = [path for path, value in entries.items() if value is None]
    kept = {p: v for p, v in entries.items() if not any(p.startswith(f"{above}.") for above in off)}
    return nest(dict(sorted(kept.items(), key=lambda item: item[0].count("."))))
