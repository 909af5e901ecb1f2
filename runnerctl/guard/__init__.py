"""The guard: runs inside every vLLM process and holds it to the compiled policy.

vLLM calls `load` as a general plugin in the front end, in the engine core and in each worker. Without a compiled
policy (or a test's hooks) it must cost nothing: hence no imports here.
"""

import os


def load() -> None:
    """Entry point `runnerctl` of the group `vllm.general_plugins`.

    Raises when a compiled policy is in force and cannot be applied: vLLM stops the process then.
    """
    if "RUNNERCTL_COMPILED_POLICY" in os.environ:
        from runnerctl.guard.hooks import install

        install()
    if "RUNNERCTL_TESTING" in os.environ:  # a test wants to stop or fail this engine's workers
        from runnerctl.testing.worker import install as install_hooks

        install_hooks()
