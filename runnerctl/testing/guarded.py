"""A forced runner that the guard holds and attests: the environment of a child process.

For children only: a guard stays in its process for good, and a test process goes on to the next runner.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from policy.compiled.artifact import compile_policy, to_text, write_atomically
from policy.document import Source, parse
from policy.engine import Catalog, UnknownRelease
from policy.rules.policy_set import PolicySet, compose, read_policy
from runnerctl import __version__
from runnerctl.handover import ATTESTATION_DIR, COMPILED_POLICY, PREFIX, TESTING, admit_guard, reach_ray
from runnerctl.testing.force import ForcedEnvironment, ForceError, Layers, as_runner, force_runner

__all__ = ["forcing_policy", "forcing_policy_text", "guarded_environment"]

POLICY = """\
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {{name: forced-{runner}}}
rules:
  - id: forced-{runner}
    match: {{}}
    runner: {runner}
    enforce: require
    reason: A test asks for {runner}.
"""


def forcing_policy_text(runner: str) -> str:
    """A policy document that requires `runner` of every deployment. Raises `ForceError`."""
    return POLICY.format(runner=as_runner(runner))


def forcing_policy(runner: str) -> PolicySet:
    """The same, read."""
    text = forcing_policy_text(runner)
    return compose([read_policy(parse(Source(f"forced-{runner}.yaml", text)))])


def guarded_environment(
    runner: str,
    env: Mapping[str, str] | Layers,
    folder: str | Path,
    *,
    release: str,
    platform: str = "cuda",
    catalog: Catalog | None = None,
) -> ForcedEnvironment:
    """`force_runner`, and what the guard needs to refuse, hold and attest it in every process of a child.

    Writes `policy.json` to `folder`, where the records will be: `runnerctl attest FOLDER` reads them. `release` is
    the vLLM that the child runs. Raises `ForceError` and `InputError`.
    """
    known = catalog or Catalog()
    engine = known.find(release)
    if isinstance(engine, UnknownRelease):
        raise ForceError(str(engine))
    artifact = compile_policy(
        forcing_policy(runner),
        engine,
        platform=platform,
        names=known.architecture_names(engine.release),
        vllm=release,
        version=__version__,
    )
    forced = force_runner(runner, env)
    records = Path(folder).absolute()
    records.mkdir(parents=True, exist_ok=True)
    path = records / "policy.json"
    write_atomically(path, to_text(artifact))
    variables = {n: v for n, v in forced.items() if not n.startswith(PREFIX) or n == TESTING}
    variables |= {COMPILED_POLICY: str(path), ATTESTATION_DIR: str(records)}
    admit_guard(variables)
    reach_ray(variables)
    # Built in this order, the switch would no longer be last.
    return ForcedEnvironment(forced.runner, force_runner(runner, variables), forced.overrides)
