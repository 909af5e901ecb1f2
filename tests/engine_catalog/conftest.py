"""A made-up engine in the shape of vLLM, in our own words, as a wheel; and a catalog that describes it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from policy.engine.source import digests, names_text, open_tree, read_deciding_code

ENVS = """
import os

VLLM_COLOUR: str | None = None

def to_switch(text):
    return None if text is None else bool(int(text))

environment_variables = {
    "VLLM_USE_V2_MODEL_RUNNER": lambda: to_switch(os.getenv("VLLM_USE_V2_MODEL_RUNNER", None)),
    "VLLM_COLOUR": lambda: os.getenv("VLLM_COLOUR"),
}
"""

CONFIG = '''
from vllm.triton_utils import HAS_TRITON
import vllm.envs as envs

logger = print
PREFERRED = frozenset({"PearForCausalLM"})


class VllmConfig:
    def __post_init__(self):
        self.unrelated = 1
        if self.use_v2_model_runner:
            self._validate_v2_model_runner()

    @property
    def use_v2_model_runner(self) -> bool:
        """Words that do not count."""
        if envs.VLLM_USE_V2_MODEL_RUNNER is not None:
            return envs.VLLM_USE_V2_MODEL_RUNNER
        if self.model_config is None or not HAS_TRITON:
            return False
        return bool(PREFERRED.intersection(self.model_config.architectures)) and not self._lacking()

    def _lacking(self):
        lacking = []
        if self.lora_config is not None:
            lacking.append("adapters")
        return lacking

    def _validate_v2_model_runner(self):
        lacking = self._lacking()
        if lacking:
            raise ValueError("V2 does not support: " + ", ".join(lacking))

    def has_nothing_to_do_with_it(self):
        return 42
'''

WORKER = """
class Worker:
    def __init__(self, vllm_config):
        self.use_v2_model_runner = vllm_config.use_v2_model_runner
"""

REGISTRY = """
_TEXT_GENERATION_MODELS = {"PearForCausalLM": ("pear", "PearForCausalLM"), "FigForCausalLM": ("pear", "Fig")}
"""

FILES = {
    "vllm/__init__.py": "",
    "vllm/envs.py": ENVS,
    "vllm/config/vllm.py": CONFIG,
    "vllm/v1/worker/gpu_worker.py": WORKER,
    "vllm/model_executor/models/registry.py": REGISTRY,
    "vllm/model_executor/models/pear.py": "class PearForCausalLM:\n    pass\n\nclass Fig:\n    is_hybrid = True\n",
}

RELEASE = """
apiVersion: runnerctl/v1
kind: EngineRelease
release: "90.1.0"
switch: three-state
default_v2_architectures: {PearForCausalLM: {}}
overrides: {}
choice:
  default: {match: {}, runner: v1, reason: only pears are V2}
  pears: {match: {default_v2_architecture: true}, runner: v2, priority: 100, reason: pears are V2}
  triton-missing: {match: {has_triton: false}, runner: v1, priority: 300, reason: no Triton}
  v2-unsupported: {match: {unsupported.v2: {exists: true}}, runner: v1, priority: 200, reason: adapters}
refused: {v1: {}, v2: {}}
unsupported:
  v1: {}
  v2:
    adapters: {feature: adapters, match: {lora_config: {exists: true}}}
"""

MakeWheel = Callable[..., Path]


@pytest.fixture
def make_wheel(tmp_path: Path) -> MakeWheel:
    """Builds a wheel of the made-up engine: `changes` replaces files, or takes them away with None."""

    def make(
        changes: Mapping[str, str | None] | None = None,
        version: str = "90.1.0",
        name: str = "vllm",
        files: Mapping[str, str] = FILES,
    ) -> Path:
        path = tmp_path / f"{name}-{version}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
            for member, text in {**files, **(changes or {})}.items():
                if text is not None:
                    wheel.writestr(member, text)
            wheel.writestr(
                f"{name}-{version}.dist-info/METADATA",
                f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nText of the project.\n",
            )
        return path

    return make


@pytest.fixture
def made_up_catalog(tmp_path: Path, make_wheel: MakeWheel) -> Path:
    """A catalog folder that describes release 90.1.0 of the made-up engine."""
    folder = tmp_path / "catalog"
    (folder / "releases").mkdir(parents=True)
    (folder / "names").mkdir()
    tree = open_tree(make_wheel())
    (folder / "releases" / "90.1.0.yaml").write_text(RELEASE)
    (folder / "names" / "90.1.0.json").write_text(names_text("90.1.0", tree))
    (folder / "source_digests.json").write_text(json.dumps({"90.1.0": digests(read_deciding_code(tree))}))
    return folder
