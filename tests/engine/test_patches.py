"""Sparse weight patches on real parameters, in the engine's environment (torch) and without an engine."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.engine.conftest import Engine

SCRIPT = """
import json
from collections import namedtuple

import torch

from runnerctl.testing import patches as module
from runnerctl.testing.patches import apply_sparse_weight_patches, parameter_digests

Patch = namedtuple("Patch", "name indices values")


class Lender:
    def __init__(self, loader):
        self.model = loader.load()

    def get_model(self):
        return self.model

    def apply_sparse_weight_patches(self, patches):
        model = self.get_model()
        for patch in patches:
            {body}


class Borrower:
    __module__ = "vllm.v1.worker.gpu.model_runner"

    def __init__(self, loader):
        self.model = loader.load()

    def get_model(self):
        return self.model

    def apply_sparse_weight_patches(self, *args):
        Lender.apply_sparse_weight_patches(self, *args)


class Loader:
    def load(self):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))
        model[1].weight = torch.nn.Parameter(torch.randn(3, 2).t())  # not contiguous
        return model


import runnerctl.testing.borrowing as borrowing
borrowing.v1_class_of = lambda runner: Lender

i32 = lambda *values: torch.tensor(values, dtype=torch.int32)
f32 = lambda *values: torch.tensor(values, dtype=torch.float32)
cases = {{
    "two": [Patch("0.weight", i32(0, 11), f32(5, 6)), Patch("0.bias", i32(1), f32(7)), Patch("0.bias", i32(1), f32(8))],
    "none": [],
    "name": [Patch("2.weight", i32(0), f32(1))],
    "strided": [Patch("1.weight", i32(0), f32(1))],
    "int64": [Patch("0.bias", torch.tensor([0]), f32(1))],
    "dtype": [Patch("0.bias", i32(0), f32(1).double())],
    "length": [Patch("0.bias", i32(0, 1), f32(1))],
    "outside": [Patch("0.bias", i32(3), f32(1))],
    "negative": [Patch("0.bias", i32(-1), f32(1))],
    "repeated": [Patch("0.bias", i32(1, 1), f32(1, 2))],
    "second-is-bad": [Patch("0.bias", i32(0), f32(1)), Patch("0.bias", i32(9), f32(1))],
}}
said = {{}}
for name, patches in cases.items():
    runner = Borrower(Loader())
    before = parameter_digests(runner.model)
    try:
        done = apply_sparse_weight_patches(runner, patches, verify=True, release="0.23.0")
        said[name] = [done.by, *done.names]
    except Exception as error:
        said[name] = f"{{type(error).__name__}}: {{error}}"
    said[name + " changed"] = [n for n, d in parameter_digests(runner.model).items() if d != before[n]]
    if name == "two":
        said["values"] = [runner.model[0].weight.flatten()[[0, 11]].tolist(), runner.model[0].bias.tolist()[1]]
print(json.dumps(said))
"""

COPIES = "model.get_parameter(patch.name).data.view(-1)[patch.indices.long()] = patch.values"
REPLACES = (
    "new = model.get_parameter(patch.name).data.clone(); new.view(-1)[patch.indices.long()] = patch.values; "
    "model[0].register_parameter(patch.name[2:], torch.nn.Parameter(new))"
)
FORGETS = "pass"


def run(engine: Engine, body: str) -> dict[str, object]:
    script = engine.script(SCRIPT.format(body=body))
    done = subprocess.run(
        [engine.bin / "python", script], env=engine.environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return said


def test_patches_are_checked_borrowed_and_verified(engine_028: Engine) -> None:
    said = run(engine_028, COPIES)
    assert said["two"] == ["v1", "0.weight", "0.bias"]
    assert said["two changed"] == ["0.weight", "0.bias"]
    assert said["values"] == [[5.0, 6.0], 8.0]
    assert said["none"] == ["v1"]
    refused = "PatchRefused: nothing was patched:\n  "
    assert said["name"] == refused + "`2.weight`: the model has no such parameter"
    strided = "`1.weight`: the parameter is not contiguous, so that flat indices mean nothing"
    assert said["strided"] == refused + strided
    assert said["int64"] == refused + "`0.bias`: the indices are torch.int64, and must be torch.int32"
    types = "`0.bias`: the values are torch.float64, and the parameter is torch.float32"
    assert said["dtype"] == refused + types
    assert said["length"] == refused + "`0.bias`: 2 indices and 1 values"
    outside = refused + "`0.bias`: an index is outside of the parameter's 3 values"
    assert (said["outside"], said["negative"], said["second-is-bad"]) == (outside,) * 3
    assert (
        said["repeated"]
        == refused + "`0.bias`: an index is there twice, and which value would win is not said"
    )
    for name in ("none", "name", "strided", "int64", "outside", "second-is-bad"):
        assert said[f"{name} changed"] == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (REPLACES, "AssertionError: not patched in place: `0.weight`, `0.bias`"),
        (FORGETS, "AssertionError: after the patches these are not what they should be: 0.bias, 0.weight"),
    ],
    ids=["replaces", "forgets"],
)
def test_a_method_that_does_something_else_is_found_out(engine_028: Engine, body: str, message: str) -> None:
    assert run(engine_028, body)["two"] == message
