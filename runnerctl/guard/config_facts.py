"""Facts of a real `VllmConfig`: only those that the rules in force ask for."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from enum import Enum
from importlib.metadata import distributions, entry_points
from typing import Any

from policy.compiled.artifact import CompiledPolicy
from policy.facts.facts import merge_facts
from policy.facts.fields import OPEN_MAPPINGS, field
from policy.facts.reading import Reading

__all__ = ["read_config_facts"]

# Facts of the process and the machine, not of the config.
OUTSIDE = {
    "vllm",
    "platform",
    "has_triton",
    "model",
    "env",
    "labels",
    "packages",
    "host",
    "logits_processor_plugins",
}


def read_config_facts(
    config: Any, policy: CompiledPolicy, environ: Mapping[str, str], given: Mapping[str, Any]
) -> dict[str, Any]:
    """The facts document of `config` in this process. `given` are the facts that only the operator knows."""
    paths = {leaf.path for m in (*policy.policies.matches(), *policy.engine.matches()) for leaf in m.leaves()}
    readings = [
        Reading({"vllm": policy.vllm, "env": dict(environ), **_outside(config, paths)}),
        Reading(_inside(config, sorted(p for p in paths if p.split(".")[0] not in OUTSIDE))),
        Reading(dict(given)),
    ]
    document, _ = merge_facts(readings)
    return document


def _outside(config: Any, paths: Iterable[str]) -> dict[str, Any]:
    from vllm.platforms import current_platform
    from vllm.triton_utils import HAS_TRITON

    heads = {p.split(".")[0] for p in paths}
    facts: dict[str, Any] = {
        "platform": platform_name(current_platform),
        "has_triton": bool(HAS_TRITON),
        "model": _as_given(str(config.model_config.model)),
        "logits_processor_plugins": bool(entry_points(group="vllm.logits_processors")),
    }
    if "packages" in heads:
        facts["packages"] = {d.name: d.version for d in distributions() if d.name}
    if "host" in heads:
        facts["host"] = _host()
    return facts


def _as_given(model: str) -> str:
    """The name on the hub, where vLLM has put the folder of its snapshot in the place of the name (offline)."""
    found = re.search(r"/models--([^/]+?)--([^/]+)/snapshots/[^/]+/?$", model)
    return f"{found[1]}/{found[2]}" if found else model


def platform_name(platform: Any) -> str:
    """The name of vLLM's current platform, in the words of the facts schema."""
    for name in ("cuda", "rocm", "xpu", "cpu", "tpu"):
        asks = getattr(platform, f"is_{name}", None)
        if callable(asks) and asks():
            return name
    return "unspecified"


def _host() -> dict[str, bool]:
    from vllm.platforms.interface import in_wsl

    facts = {"wsl": bool(in_wsl())}
    try:
        from vllm.utils.platform_utils import is_pin_memory_available
    except ImportError:
        return facts
    return {**facts, "pinned_memory": bool(is_pin_memory_available())}


def _inside(config: Any, paths: Iterable[str]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for path in paths:
        if path.split(".")[0] in OPEN_MAPPINGS or field(path) is None:
            continue
        _read(config, path.split("."), facts)
    return facts


def _read(config: Any, steps: list[str], into: dict[str, Any]) -> None:
    """Copy the value at `steps` of `config` into the nested document. What this release lacks is left out."""
    node, below = config, into
    for i, step in enumerate(steps):
        value = node.get(step, _MISSING) if isinstance(node, Mapping) else getattr(node, step, _MISSING)
        if value is _MISSING:
            return
        if inspect.ismethod(value):  # `is_xpress()` and its like
            value = value()
        if i == len(steps) - 1:
            plain = _plain(value)
            # An object that is already open in the document stays open: only its fields say more.
            if not (plain == {} and isinstance(below.get(step), dict)):
                below[step] = plain
            return
        if value is None:
            below[step] = None
            return
        if not isinstance(below.get(step), dict):
            below[step] = {}
        below, node = below[step], value


_MISSING = object()


def _plain(value: Any) -> Any:
    """A config value as the facts schema has it: enumerations by name, objects as an open mapping."""
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        # Plain string enumerations are written by value in vLLM's own flags, the others by name.
        return value.value if isinstance(value.value, str) else value.name
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(v) for v in value]
    if isinstance(value, type):
        return value.__name__
    return {}
