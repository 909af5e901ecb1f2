"""Deployments like a given one in what the rules ask about, and other in what the releases ask about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from packaging.version import Version

from policy.analysis.boxes import boxes_of
from policy.analysis.findings import Witness
from policy.analysis.homes import Homes
from policy.analysis.search import Budget, Point, Search
from policy.analysis.space import Space
from policy.analysis.unanalysable import Unanalysable
from policy.analysis.witness import witness_at
from policy.document.source import merge_mappings
from policy.engine.release import RUNNERS, EngineRelease
from policy.facts.fields import SWITCH
from policy.rules.match import Match

__all__ = ["variants"]

ARCHITECTURE = "LlamaForCausalLM"
# The operator's switch as vLLM reads it: V1, V2, each in another spelling, and what is no integer.
SWITCHES = ("0", "1")
SPELLINGS = ("2", "00", "10", "-1", "on")


def variants(base: Witness, point: Point, space: Space, homes: Homes) -> Iterator[Witness]:
    """`base` with the switch set and not set, in every other release of `point`, and with what each release does not
    serve.

    They need not match the same rules as `base`: whoever uses one asks again.
    """
    if not base.document.get("model_config"):  # most deployments have a model
        yield Witness({**base.document, "model_config": {"architectures": [ARCHITECTURE]}}, base.assume)
    documents = [_with_switch(base.document, raw) for raw in (None, *SWITCHES)]
    spelled = [_with_switch(base.document, raw) for raw in SPELLINGS]
    for document in (*documents, *spelled):
        yield Witness(document, base.assume)
    vllm, line = space.releases()
    mask = point.scalars.get(vllm, line.full)
    versions = {base.document["vllm"]: homes.home(Version(base.document["vllm"]))}
    for release, version in homes.members(line, mask):
        if version not in versions:
            versions[version] = release
            for document in (*documents, *spelled):
                yield Witness({**document, "vllm": version}, homes.assumed(version))
    for version, release in versions.items():
        for over in _overlays(homes.catalog.load(release), homes):
            for document in documents:
                merged = merge_mappings(merge_mappings(document, over), {"vllm": version})
                yield Witness(merged, homes.assumed(version))


def _with_switch(document: Mapping[str, Any], raw: str | None) -> dict[str, Any]:
    """The document with this value of the switch; None is not set."""
    env = {name: value for name, value in (document.get("env") or {}).items() if name != SWITCH}
    env |= {} if raw is None else {SWITCH: raw}
    rest = {key: value for key, value in document.items() if key != "env"}
    return {**rest, "env": env} if env else rest


def _overlays(engine: EngineRelease, homes: Homes) -> Iterator[dict[str, Any]]:
    """Facts of a deployment for each thing that the release does not serve, or decides by."""
    for match in _asked(engine):
        try:
            space = Space([match])
            found = boxes_of(match, space)
        except Unanalysable:
            continue  # it asks for what the resolver derives from other things here
        for box in found:
            point = Search(space, Budget(1000, 1000)).outside(box, [])
            if point is not None:
                document = dict(witness_at(point, box.axes(), space, homes, []).document)
                document.pop("vllm")
                document.pop("env", None)
                yield document


def _asked(engine: EngineRelease) -> Iterator[Match]:
    for runner in RUNNERS:
        for gap in (*engine.unsupported[runner], *engine.refused[runner]):
            yield gap.match
    for choice in (*engine.overrides, *engine.choice):
        yield choice.match
