"""The pytest plugin `runnerctl.testing`: tests that run under one model runner, or under each.

Loaded in every test run where runnerctl is installed: so nothing of ours is imported before a test is marked.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from runnerctl.testing.force import ForcedEnvironment

RUNNER = pytest.StashKey[str]()
REFUSED = pytest.StashKey[str]()
FIXTURE = "model_runner"
ONE = "model_runner"
BOTH = "both_model_runners"
# Other words that a marker takes are facts of the deployment.
OPTIONS = ("scope",)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("runnerctl", "model runners of vLLM")
    group.addoption(
        "--vllm-release",
        metavar="RELEASE",
        help="Ask the catalog about this vLLM release, not about the one installed here.",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{ONE}(runner, **facts): run the test under this model runner, v1 or v2; "
        "skipped where the release or the machine cannot serve it",
    )
    config.addinivalue_line(
        "markers",
        f"{BOTH}(*, scope='module', **facts): run the test once under each model runner; skipped likewise",
    )

    release = config.getoption("--vllm-release")
    if release is not None:
        from packaging.version import InvalidVersion, Version  # noqa: PLC0415  (only where one is asked about)

        try:
            Version(release)
        except InvalidVersion as error:
            raise pytest.UsageError(
                f"--vllm-release: `{release}` is not a release: a release is a PEP 440 version such as 0.23.0"
            ) from error


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    both = metafunc.definition.get_closest_marker(BOTH)
    one = metafunc.definition.get_closest_marker(ONE)
    if both is not None:
        if both.args:
            raise pytest.UsageError(
                f"{metafunc.definition.nodeid}: {BOTH} runs under both and names none; "
                f'for one of them write @pytest.mark.{ONE}("v1") or ("v2")'
            )
        if FIXTURE not in metafunc.fixturenames:
            metafunc.fixturenames.append(FIXTURE)
        metafunc.parametrize(FIXTURE, ["v1", "v2"], indirect=True, scope=both.kwargs.get("scope", "module"))
    elif one is not None and FIXTURE in metafunc.fixturenames:
        metafunc.parametrize(
            FIXTURE, [_named(one, metafunc.definition.nodeid)], indirect=True, scope="module"
        )


def pytest_itemcollected(item: pytest.Item) -> None:
    one, both = item.get_closest_marker(ONE), item.get_closest_marker(BOTH)
    if one is None and both is None:
        return
    if one is not None and both is not None:
        raise pytest.UsageError(f"{item.nodeid}: marked {ONE} and {BOTH}; it can have one of them")
    marker = one or both
    assert marker is not None  # noqa: S101
    runner = _named(one, item.nodeid) if one is not None else _parameter(item)
    item.stash[RUNNER] = runner
    reason = _why_not(item, runner, {k: v for k, v in marker.kwargs.items() if k not in OPTIONS})
    if reason is not None:
        item.add_marker(pytest.mark.skip(reason=f"model runner {runner}: {reason}"))


def _named(marker: pytest.Mark, nodeid: str) -> str:
    if len(marker.args) != 1:
        raise pytest.UsageError(f'{nodeid}: write @pytest.mark.{ONE}("v1") or ("v2")')
    from runnerctl.testing.force import ForceError, as_runner  # noqa: PLC0415  (a marked test's cost)

    try:
        return as_runner(marker.args[0])
    except ForceError as error:
        raise pytest.UsageError(f"{nodeid}: {error}") from error


def _parameter(item: pytest.Item) -> str:
    callspec = getattr(item, "callspec", None)
    if callspec is None or FIXTURE not in callspec.params:
        raise pytest.UsageError(
            f"{item.nodeid}: {BOTH} needs a pytest function: unittest's cases take no parameters; "
            f'mark two cases {ONE}("v1") and {ONE}("v2")'
        )
    return str(callspec.params[FIXTURE])


def _why_not(item: pytest.Item, runner: str, facts: Mapping[str, Any]) -> str | None:
    from policy.input_error import InputError  # noqa: PLC0415  (a marked test's cost)
    from runnerctl.testing.serving import why_not_served  # noqa: PLC0415

    try:
        return why_not_served(runner, release=item.config.getoption("--vllm-release"), facts=facts)
    except InputError as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from error


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, None, None]:
    """Around setup and teardown, too: an engine in a module's fixture is started under the runner that is asked for."""
    runner = item.stash.get(RUNNER, None)
    if runner is None:
        yield
        return
    from runnerctl.testing.force import ForceError, forced_runner  # noqa: PLC0415  (a marked test's cost)

    with ExitStack() as stack:
        try:
            stack.enter_context(forced_runner(runner))
        except ForceError as error:
            item.stash[REFUSED] = str(error)
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test whose runner cannot be forced fails, and the others go on."""
    refused = item.stash.get(REFUSED, None)
    if refused is not None:
        pytest.fail(refused, pytrace=False)


@pytest.fixture(scope="session")
def model_runner(request: pytest.FixtureRequest) -> str:
    """The runner that the test is marked with: a fixture that builds an engine depends on it, and is built for each."""
    if not hasattr(request, "param"):
        pytest.fail(
            f"the fixture `{FIXTURE}` is for tests that are marked `{ONE}` or `{BOTH}`", pytrace=False
        )
    return str(request.param)


@pytest.fixture
def force_runner() -> Iterator[Callable[[str], ForcedEnvironment]]:
    """A function that forces a runner in this process until the test is over: `force_runner("v1")`."""
    from runnerctl.testing.force import forced_runner  # noqa: PLC0415

    with ExitStack() as stack:
        yield lambda runner: stack.enter_context(forced_runner(runner))


@pytest.fixture(scope="session")
def vllm_release(request: pytest.FixtureRequest) -> str:
    """The release that a run is about: `--vllm-release`, or the vLLM installed here; skips where there is neither."""
    from runnerctl.testing.serving import machine_facts  # noqa: PLC0415

    release = request.config.getoption("--vllm-release") or machine_facts().facts.get("vllm")
    if release is None:
        pytest.skip("no vLLM is installed here; name a release with --vllm-release")
    return str(release)


@pytest.fixture(scope="session")
def installed_engine() -> tuple[str, Any]:
    """The vLLM installed here, (release, oracle): its own deciding code, read and not imported; skips without one."""
    from policy.engine.source.deciding import read_deciding_code  # noqa: PLC0415
    from policy.engine.source.oracle import Oracle  # noqa: PLC0415
    from policy.engine.source.tree import open_tree  # noqa: PLC0415
    from policy.facts.installation import read_installation  # noqa: PLC0415

    found = read_installation(None)
    if found.release is None or found.package is None:
        pytest.skip("no vLLM is installed here, whose own code could be asked")
    return found.release, Oracle(read_deciding_code(open_tree(found.package.parent)))
