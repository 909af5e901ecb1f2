"""A sample suite that a plugin's repository takes over in one line of a test file:

    from runnerctl.testing.suite import *

It runs for the vLLM installed, or for `--vllm-release`. A repository with rules and models of its own says so:

    from runnerctl.testing.suite import DefaultRunnerSuite

    class TestOurs(DefaultRunnerSuite):
        policies = ["policies/"]
        models = {**DefaultRunnerSuite.models, "ours": ("OurModelForCausalLM", {"is_moe": False})}
        expected = {("llama", None): "v1", ("ours", None): "v1"}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, ClassVar

import pytest
from packaging.version import Version

from runnerctl.testing.defaults import assert_default_runner, default_runner, deployment

__all__ = ["DefaultRunnerSuite", "TestDefaultRunner"]

Model = tuple[str, Mapping[str, Any]]

MODELS: dict[str, Model] = {
    "llama": ("LlamaForCausalLM", {}),
    "mistral": ("MistralForCausalLM", {}),
    "qwen3": ("Qwen3ForCausalLM", {}),
    "moe": ("Qwen3MoeForCausalLM", {"is_moe": True}),
    "quantized": ("LlamaForCausalLM", {"is_quantized": True}),
    "pooling": ("LlamaForCausalLM", {"runner_type": "pooling"}),
}
SWITCHES = (None, "0", "1")

# Since which release each model goes to V2 where nobody sets the switch. From vLLM's own sources, not from the catalog.
DEFAULTS_TO_V2_SINCE = {
    "qwen3": "0.22",
    "llama": "0.23",
    "mistral": "0.23",
    "quantized": "0.24",
    "moe": "0.29",
    "pooling": "0.29",
}
# The releases for which that has been looked up: from the first that reads the switch.
KNOWN = (Version("0.12.dev0"), Version("0.34.dev0"))


class DefaultRunnerSuite:
    """One test a model and value of the switch. A subclass may give its own `models`, `policies`, `facts`, `expected`.

    `expected` names the runner, or `refused`, by (model, switch); what it leaves out is vLLM's own. `facts`
    are those of every deployment (`{"platform": "rocm"}`).
    """

    models: ClassVar[Mapping[str, Model]] = MODELS
    policies: ClassVar[Sequence[str]] = ()
    facts: ClassVar[Mapping[str, Any]] = {}
    expected: ClassVar[Mapping[tuple[str, str | None], str]] = {}

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "model" in metafunc.fixturenames:
            unknown = [key for key in self.expected if key not in product(self.models, SWITCHES)]
            if unknown:
                raise pytest.UsageError(
                    f"{type(self).__name__}.expected: {unknown[0]!r} is no row; a key is (model, switch), "
                    f"of {', '.join(self.models)} and of None, '0', '1'"
                )
            metafunc.parametrize("model", list(self.models))
            metafunc.parametrize("switch", SWITCHES, ids=["not-set", "switch-0", "switch-1"])

    def test_runner(self, model: str, switch: str | None, vllm_release: str) -> None:
        """The runner is the one that this repository expects."""
        expected: Any = self.expected.get((model, switch)) or self._own(model, switch, vllm_release)
        architecture, facts = self.models[model]
        assert_default_runner(
            architecture,
            vllm_release,
            expected,
            switch=switch,
            policies=self.policies,
            **{**self.facts, **facts},
        )

    def _own(self, model: str, switch: str | None, release: str) -> str:
        since = DEFAULTS_TO_V2_SINCE.get(model)
        version = Version(release)
        if since is None or not KNOWN[0] <= version < KNOWN[1]:
            pytest.skip(f"nobody has said what to expect of `{model}` under vLLM {release}; give `expected`")
        if switch is not None:
            return "v2" if int(switch) else "v1"
        return "v2" if version >= Version(f"{since}.dev0") else "v1"

    def test_the_installed_engine_agrees(self, model: str, switch: str | None, installed_engine: Any) -> None:
        """vLLM's own deciding code, run on the same facts, comes to what the catalog says of it."""
        release, oracle = installed_engine
        architecture, facts = self.models[model]
        asked = {**self.facts, **facts}
        ours = default_runner(architecture, release, switch=switch, **asked)
        theirs = oracle.ask(deployment(architecture, release, switch=switch, **asked))
        assert ours.runner == theirs.runner, f"vLLM {release} itself: {theirs.runner or theirs.message}"


class TestDefaultRunner(DefaultRunnerSuite):
    """The sample as it is."""
