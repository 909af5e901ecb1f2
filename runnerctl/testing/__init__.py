"""What people need who test on both model runners: forcing one, stopping and failing inside workers, borrowed methods.

Names are loaded when they are asked for: a worker and pytest's start pay only for what they use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runnerctl.testing.borrowing import ForwardRefused, Verdict, forward_to_v1
    from runnerctl.testing.defaults import assert_default_runner, default_runner
    from runnerctl.testing.force import ForcedEnvironment, force_runner, forced_runner, ray_runtime_env
    from runnerctl.testing.forward import (
        ForwardAdapter,
        InjectedFailure,
        accepts_any_call,
        fail_at,
        wrap_forward,
    )
    from runnerctl.testing.gate import Gate, GateTimeout
    from runnerctl.testing.guarded import guarded_environment
    from runnerctl.testing.patches import apply_sparse_weight_patches, parameter_digests, sparse_patches_in
    from runnerctl.testing.serving import why_not_served

_WHERE = {
    "ForcedEnvironment": "force",
    "ForwardAdapter": "forward",
    "ForwardRefused": "borrowing",
    "Gate": "gate",
    "GateTimeout": "gate",
    "InjectedFailure": "forward",
    "Verdict": "borrowing",
    "accepts_any_call": "forward",
    "apply_sparse_weight_patches": "patches",
    "assert_default_runner": "defaults",
    "default_runner": "defaults",
    "fail_at": "forward",
    "force_runner": "force",
    "forced_runner": "force",
    "forward_to_v1": "borrowing",
    "guarded_environment": "guarded",
    "parameter_digests": "patches",
    "ray_runtime_env": "force",
    "sparse_patches_in": "patches",
    "why_not_served": "serving",
    "wrap_forward": "forward",
}

__all__ = [
    "ForcedEnvironment",
    "ForwardAdapter",
    "ForwardRefused",
    "Gate",
    "GateTimeout",
    "InjectedFailure",
    "Verdict",
    "accepts_any_call",
    "apply_sparse_weight_patches",
    "assert_default_runner",
    "default_runner",
    "fail_at",
    "force_runner",
    "forced_runner",
    "forward_to_v1",
    "guarded_environment",
    "parameter_digests",
    "ray_runtime_env",
    "sparse_patches_in",
    "why_not_served",
    "wrap_forward",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module `{__name__}` has no `{name}`")
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
