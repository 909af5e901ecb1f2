"""How a test's wishes reach the workers: as JSON in one environment variable, which every engine process inherits.

Pickled classes and multiprocessing's own locks do not survive vLLM's spawn; an environment does. In each process
vLLM loads our general plugin, which installs `runnerctl.testing.worker` where the variable is set.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from runnerctl.handover import PLUGINS, RAY_PREFIXES, TESTING, admit_guard, reach_ray

__all__ = ["HookError", "hooks_in_force", "hooks_of", "with_hook"]

OURS = (TESTING, PLUGINS, RAY_PREFIXES)


class HookError(RuntimeError):
    """A hook that cannot do its work in this engine: it stops, rather than pass a test that tested nothing."""


def with_hook(environ: Mapping[str, str], kind: str, spec: Mapping[str, Any]) -> dict[str, str]:
    """The variables of `environ` that change where a hook joins those that are already wished for."""
    hooks = [*hooks_of(environ), {"kind": kind, **spec}]
    changed = {name: environ[name] for name in (PLUGINS, RAY_PREFIXES) if name in environ}
    admit_guard(changed)
    reach_ray(changed)
    return {**changed, TESTING: json.dumps(hooks, sort_keys=True)}


def hooks_of(environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """The hooks that an environment asks for, in the order in which they were wished for."""
    found: list[dict[str, Any]] = json.loads(environ.get(TESTING, "[]"))
    return found


@contextmanager
def hooks_in_force(
    kind: str, spec: Mapping[str, Any], environ: MutableMapping[str, str] | None = None
) -> Iterator[None]:
    """Put a hook into this process's environment, for every engine that starts inside; then give it back."""
    target = os.environ if environ is None else environ
    before = {name: target.get(name) for name in OURS}
    target.update(with_hook(target, kind, spec))
    if target is os.environ:
        # vLLM loads plugins once a process: an engine inside this one may find them loaded already.
        from runnerctl.testing.worker import install  # noqa: PLC0415  (needs wrapt, and a circle at import)

        install()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                target.pop(name, None)
            else:
                target[name] = value
