"""One process's guard: knows the verdict (or makes it, where it was deferred), enforces it and records what ran."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import MutableMapping
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

from packaging.version import Version

from policy.compiled.artifact import CompiledPolicy, load_artifact, write_atomically
from policy.decision import Decision, resolve
from policy.engine.release import Runner
from policy.facts.facts import Facts
from policy.facts.fields import SWITCH
from runnerctl.attestation.record import Record, append_record
from runnerctl.guard.config_facts import read_config_facts
from runnerctl.handover import (
    ATTESTATION_DIR,
    COMPILED_POLICY,
    FACTS,
    STRICT_ENV,
    VERDICT,
    Verdict,
    admit_guard,
)

__all__ = ["Guard", "GuardError"]

ARCHITECTURES = "DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES"

logger = logging.getLogger("vllm.runnerctl")  # below vLLM's logger, so that its handlers and level apply


class GuardError(RuntimeError):
    """Stops the engine: the policy cannot be applied, or another runner was built than was decided."""


class Guard:
    """Holds one process to the compiled policy. `environ` is changed in place, so that children inherit."""

    def __init__(self, policy: CompiledPolicy, environ: MutableMapping[str, str]) -> None:
        self.policy = policy
        self.environ = environ
        given = environ.get(VERDICT)
        self.verdict: Verdict | None = Verdict.from_json(given) if given else None
        self.folder = Path(environ[ATTESTATION_DIR]) if environ.get(ATTESTATION_DIR) else None
        # What the operator set, before a decision made here changes it: a second model is asked about the same.
        self._operator_env = None if self.verdict else dict(environ)
        self._deciding = False
        self._decided_for: Any = None

    @classmethod
    def from_environment(cls, environ: MutableMapping[str, str]) -> Guard:
        """Raises `GuardError` or `ArtifactError` when the compiled policy does not fit this process."""
        policy = load_artifact(environ[COMPILED_POLICY])
        running = _running_release()
        if not _same_release(running, policy.vllm):
            raise GuardError(
                f"the compiled policy is for vLLM {policy.vllm}, and this is {running}; compile it again for {running}"
            )
        return cls(policy, environ)

    def before_question(self, config: Any) -> None:
        """Called before vLLM answers which runner it uses: decide if that was left to us, then enforce."""
        if self.verdict is None and not self._deciding and config.model_config is not None:
            self._deciding = True
            try:
                self._decide(config)
            finally:
                self._deciding = False
        self._enforce()

    def _decide(self, config: Any) -> None:
        decision = self._resolve(config)
        self._decided_for = config
        self._leave_decision(decision)
        for name in decision.env_unset:
            self.environ.pop(name, None)
        self.environ.update(decision.env_set)
        admit_guard(self.environ)
        self.verdict = Verdict.of(decision, self.environ.get(SWITCH))
        self.environ[VERDICT] = self.verdict.to_json()
        overridden = (f"{o.name}={o.value} overridden by {o.by}" for o in decision.shown().overrides)
        for text in (*decision.warnings, *overridden):
            logger.warning("runnerctl: %s", text)
        logger.info("runnerctl: decided %s, by %s", decision.runner, self.verdict.who)
        self.install_architectures(sys.modules["vllm.config.vllm"])

    def _leave_decision(self, decision: Decision) -> None:
        """Where the launch left the decision to the guard, it stands in the folder from here on."""
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            text = json.dumps(decision.as_json(), indent=1) + "\n"
            write_atomically(self.folder / "decision.json", text)
        except OSError as error:
            logger.error("runnerctl: no decision.json in %s: %s", self.folder, error)

    def _resolve(self, config: Any) -> Decision:
        """The decision for a config under what the operator set. Raises `GuardError` when there is no runner."""
        environ = self._operator_env or {}
        facts = read_config_facts(config, self.policy, environ, json.loads(environ.get(FACTS, "{}")))
        layers = [("process environment", environ)]
        decision = resolve(
            self.policy.policies,
            self.policy.engine,
            Facts(facts),
            layers=layers,
            strict_env=environ.get(STRICT_ENV) == "1",
            today=date.today(),
        )
        if decision.status != "ok":
            self._leave_decision(decision)
            messages = "; ".join(e.message for e in decision.errors)
            raise GuardError(f"runnerctl refuses to start this engine: {messages}")
        return decision

    def _check_next_model(self, config: Any, verdict: Verdict) -> None:
        """The switch is one for the whole process: a further model that needs another runner cannot have it."""
        decision = self._resolve(config)
        if decision.runner != verdict.runner:
            rule = decision.decided_by.rule if decision.decided_by else None
            raise GuardError(
                f"this process was given {verdict.runner} by {verdict.who}, and rule `{rule}` decides "
                f"{decision.runner} for {config.model_config.model}: start it in a process of its own"
            )

    def _enforce(self) -> None:
        """Put the switch back to what was decided, if anything has changed it since."""
        verdict = self.verdict
        if verdict is None or self.environ.get(SWITCH) == verdict.switch:
            return
        found = self.environ.get(SWITCH)
        logger.warning(
            "runnerctl: %s was changed to %r after the decision; %s holds", SWITCH, found, verdict.who
        )
        if verdict.switch is None:
            self.environ.pop(SWITCH, None)
        else:
            self.environ[SWITCH] = verdict.switch

    def install_architectures(self, module: ModuleType) -> None:
        """The compiled frozenset in place of that of `vllm.config.vllm`, where the release has one (0.22 to 0.28)."""
        architectures = self.policy.default_v2_architectures
        if architectures is None or self.verdict is None or not self.verdict.install_architectures:
            return
        if not hasattr(module, ARCHITECTURES):
            raise GuardError(f"this vLLM has no {ARCHITECTURES}, and its release should have")
        setattr(module, ARCHITECTURES, frozenset(architectures))

    def attest_config(self, role: str, config: Any) -> None:
        """Check and record which runner a process will use. Raises `GuardError` on a difference."""
        if config.model_config is None:
            return
        decided_here = self._operator_env is not None and self._decided_for is not config
        if role == "front-end" and decided_here and self.verdict is not None:
            self._check_next_model(config, self.verdict)
        used: Runner = "v2" if config.use_v2_model_runner else "v1"
        parallel = config.parallel_config
        local = getattr(parallel, "data_parallel_size_local", None)
        self._attest(
            role,
            used,
            rank=getattr(parallel, "data_parallel_rank", 0) if role == "engine-core" else None,
            world_size=parallel.world_size,
            data_parallel_size=local or parallel.data_parallel_size,
        )

    def attest_worker(self, config: Any, module: str, built: Runner, rank: int) -> None:
        """Check and record the runner that a worker has built. Raises `GuardError` on a difference."""
        # A dense model's engines all keep rank 0: only the index tells them apart.
        parallel = config.parallel_config
        data_parallel_rank = getattr(parallel, "data_parallel_index", None) or parallel.data_parallel_rank
        self._attest("worker", built, rank=rank, module=module, data_parallel_rank=data_parallel_rank)

    def _attest(self, role: str, used: Runner, **details: Any) -> None:
        verdict = self.verdict
        if verdict is None:
            raise GuardError("an engine was built before a runner was decided")
        record = Record(
            role=role,
            runner=used,
            decided=verdict.runner,
            rule=verdict.rule,
            who=verdict.who,
            switch=self.environ.get(SWITCH),
            policy=self.policy.digest,
            vllm=_running_release(),
            **details,
        )
        self._keep(record)
        if used != verdict.runner:
            where = f" ({record.module})" if record.module else ""
            raise GuardError(
                f"{role} uses model runner {used}{where}, and {verdict.who} decided {verdict.runner}: stopping"
            )

    def _keep(self, record: Record) -> None:
        """Leave the record. A folder that cannot be written costs the record, not the engine: `attest` misses it."""
        if self.folder is None:
            return
        try:
            append_record(self.folder, record)
        except OSError as error:
            logger.error("runnerctl: no attestation of %s in %s: %s", record.role, self.folder, error)


def _running_release() -> str:
    import vllm

    return str(vllm.__version__)


def _same_release(running: str, compiled: str) -> bool:
    """Local and post releases are the release they are built from; a development version is only itself."""
    ours, theirs = Version(running), Version(compiled)
    if ours.is_devrelease or theirs.is_devrelease:
        return ours.public == theirs.public
    return ours.base_version == theirs.base_version
