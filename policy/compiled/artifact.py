"""The compiled policy: everything that a guard needs for one release, in one JSON file with a content digest."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import Version

from policy.compiled.architectures import default_v2_architectures
from policy.document.diagnostic import DocumentError
from policy.document.schema import API_VERSION, check
from policy.document.source import Document
from policy.engine.release import EngineRelease
from policy.input_error import InputError, reason_of
from policy.rules.policy_set import PolicySet, Rule, rule_from_data
from policy.rules.read_match import MatchReader

__all__ = [
    "ArtifactError",
    "CompiledPolicy",
    "compile_policy",
    "load_artifact",
    "to_text",
    "write_atomically",
]

KIND = "CompiledPolicy"


class ArtifactError(InputError):
    """A compiled policy that cannot be trusted: unreadable, of another format, or changed since it was made."""


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """A compiled policy, read back: `policies` and `engine` are what `resolve` takes.

    `vllm` is the version it was compiled for, which `engine` describes or was assumed to.
    """

    vllm: str
    policies: PolicySet
    engine: EngineRelease
    default_v2_architectures: tuple[str, ...] | None
    digest: str


def compile_policy(
    policies: PolicySet,
    engine: EngineRelease,
    *,
    platform: str,
    names: tuple[str, ...],
    vllm: str,
    version: str,
) -> dict[str, Any]:
    """The artifact as JSON values; equal input gives equal bytes. `vllm` is the version that will run, which
    `engine` describes or is assumed to; `version` is that of runnerctl.

    Architectures over which rules clash are left as the release has them.
    """
    found = default_v2_architectures(policies, engine, vllm, platform, names)
    content = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "vllm": Version(vllm).public,
        "platform": platform,
        "default_v2_architectures": None if found is None else list(found.architectures),
        "env": dict(policies.env),
        "rules": [_rule_data(rule) for rule in policies.rules],
        "policies": [{"name": f.name, "owner": f.owner, "sha256": f.digest} for f in policies.files],
        "engine": dict(engine.data),
        "runnerctl": version,
    }
    return {**content, "digest": _digest(content)}


def _rule_data(rule: Rule) -> dict[str, Any]:
    return {**rule.data, "policy": rule.policy, "location": rule.location}


def _digest(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def to_text(artifact: Mapping[str, Any]) -> str:
    """The file's bytes as text: sorted keys, so that two compilations can be compared."""
    return json.dumps(artifact, sort_keys=True, indent=1, ensure_ascii=True) + "\n"


def load_artifact(path: str | os.PathLike[str]) -> CompiledPolicy:
    """Read a compiled policy and check its digest. Raises `ArtifactError`."""
    name = os.fspath(path)
    try:
        data = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise ArtifactError(f"{name}: cannot be read: {reason_of(error)}") from error
    except ValueError as error:
        raise ArtifactError(f"{name}: not a compiled policy: not JSON") from error
    if not isinstance(data, dict) or data.get("kind") != KIND or data.get("apiVersion") != API_VERSION:
        raise ArtifactError(
            f"{name}: not a compiled policy of {API_VERSION}; make one with `runnerctl compile`"
        )
    try:
        check(Document.unmarked(name, data), "compiled-policy")
    except DocumentError as error:
        raise ArtifactError(f"{name}: not a compiled policy: {error.diagnostics[0].message}") from error
    digest = data.pop("digest")
    if digest != _digest(data):
        raise ArtifactError(
            f"{name}: changed since it was compiled: its digest does not fit; compile it again"
        )
    return _from_data(name, data, digest)


def _from_data(name: str, data: Mapping[str, Any], digest: str) -> CompiledPolicy:
    reader = MatchReader(Document.unmarked(name, data))
    rules = [
        rule_from_data(entry, reader.read(entry["match"], ()), entry["policy"], entry["location"])
        for entry in data["rules"]
    ]
    try:
        engine = EngineRelease.from_data(data["engine"])
    except DocumentError as error:
        raise ArtifactError(f"{name}: {error}") from error
    if reader.findings:
        raise ArtifactError(f"{name}: {DocumentError(reader.findings)}")
    architectures = data["default_v2_architectures"]
    return CompiledPolicy(
        vllm=data["vllm"],
        policies=PolicySet((), tuple(sorted(rules, key=lambda r: r.rank)), data["env"]),
        engine=engine,
        default_v2_architectures=None if architectures is None else tuple(architectures),
        digest=digest,
    )


def write_atomically(path: Path, text: str) -> None:
    """Write beside `path`, then rename: readers see the old file or the whole new one. Raises `OSError`.

    A link is followed; what is no file (a pipe, a device) is written to and stays what it is.
    """
    path = Path(os.path.realpath(path))
    mode = _mode_of(path)
    if mode is None:
        with path.open("w", encoding="utf-8") as stream:
            stream.write(text)
        return
    descriptor, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(beside).chmod(mode)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _mode_of(path: Path) -> int | None:
    """The permissions that the file at `path` has or should get; None where it is no regular file."""
    try:
        found = path.stat().st_mode
    except FileNotFoundError:
        umask = os.umask(
            0
        )  # mkstemp makes files for their owner alone; a policy is read by the engine's user too
        os.umask(umask)
        return 0o666 & ~umask
    return stat.S_IMODE(found) if stat.S_ISREG(found) or stat.S_ISDIR(found) else None
