"""`runnerctl diff`: files, folders and commits."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import jsonschema_rs
import pytest

from policy.document.schema import load_schema
from tests.conftest import Answer

Cli = Callable[..., Answer]

HEAD = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: NAME}\n"
RULE = '  - {id: pin, match: {vllm: ">=0.23.dev0,<0.25.dev0", architectures: "Llama*"}, runner: v1}\n'
OTHER = "  - {id: rocm, match: {platform: rocm}, runner: v2, enforce: require}\n"


def write(path: Path, *rules: str, name: str = "fleet", more: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    listed = "rules:\n" + "".join(rules) if rules else "rules: []\n"
    path.write_text(HEAD.replace("NAME", name) + more + listed, "utf-8")
    return path


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit that holds `configs/fleet.yaml`, and this process in it."""
    write(tmp_path / "configs" / "fleet.yaml", RULE, OTHER)
    write(tmp_path / "configs" / "fleet_test.yaml", RULE)
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("rules", "code", "words"),
    [
        ((RULE, OTHER), 0, ["no difference"]),
        ((OTHER, RULE), 0, ["no difference"]),
        ((OTHER, RULE.replace("pin", "held")), 0, ["no difference"]),
        ((OTHER, RULE.replace("}, runner: v1", "}, runner: v1, reason: told")), 0, ["no difference"]),
        ((RULE.replace("0.25", "0.24"), OTHER), 1, ["`pin` -> no rule", '"vllm": "0.24.0"', "was    v1"]),
        ((RULE.replace("v1}", "v2}"), OTHER), 1, ["`pin` -> `pin`", "now    v2"]),
        ((RULE,), 1, ["`rocm` -> no rule", '"platform": "rocm"']),
        ((RULE, OTHER, OTHER.replace("rocm,", "cpu,").replace("rocm}", "cpu}")), 1, ["no rule -> `cpu`"]),
        ((RULE.replace('<0.25.dev0"', '<0.25.dev0,!=9"'), OTHER), 0, ["no difference"]),
    ],
)
def test_two_files(cli: Cli, tmp_path: Path, rules: tuple[str, ...], code: int, words: list[str]) -> None:
    old, new = write(tmp_path / "old.yaml", RULE, OTHER), write(tmp_path / "new.yaml", *rules)
    answer = cli("diff", old, new)
    assert (answer.code, answer.err) == (code, "")
    assert all(word in answer.out for word in words), answer.out


SWITCH = "env.VLLM_USE_V2_MODEL_RUNNER"
HUGE = "1" + 400 * "0"


@pytest.mark.parametrize(
    ("old", "new", "witness"),
    [
        # The rule that changed decides where the switch is 0, and the difference is where it is not set.
        (
            [
                f"{{id: a, match: {{{SWITCH}: {{exists: false}}, labels.a: b}}, runner: v1}}",
                f'{{id: b, match: {{{SWITCH}: "0"}}, runner: v2}}',
            ],
            ["{id: a, match: {}, runner: v1}"],
            '{"vllm": "0.33.0"}',
        ),
        (
            [f"{{id: a, match: {{model_config.max_model_len: {{ge: {HUGE}}}}}, runner: v1}}"],
            [f"{{id: a, match: {{model_config.max_model_len: {{gt: {HUGE}}}}}, runner: v1}}"],
            HUGE,
        ),
        (
            [f"{{id: a, match: {{cache_config.gpu_memory_utilization: {HUGE}}}, runner: v1}}"],
            [f"{{id: a, match: {{cache_config.gpu_memory_utilization: {HUGE}1}}, runner: v1}}"],
            HUGE,
        ),
    ],
    ids=["only without the switch", "a bound that is no float", "a value that is no float"],
)
def test_a_difference_that_is_easily_missed(
    cli: Cli, tmp_path: Path, old: list[str], new: list[str], witness: str
) -> None:
    before, after = (
        write(tmp_path / name, *(f"  - {rule}\n" for rule in rules))
        for name, rules in (("old.yaml", old), ("new.yaml", new))
    )
    answer = cli("diff", before, after)
    assert (answer.code, answer.err) == (1, "")
    assert witness in answer.out


def test_a_file_and_a_folder_of_several(cli: Cli, tmp_path: Path) -> None:
    old = write(tmp_path / "old.yaml", RULE, OTHER)
    write(tmp_path / "new" / "a.yaml", OTHER, name="a")
    write(tmp_path / "new" / "b.yaml", RULE, name="b")
    assert cli("diff", old, tmp_path / "new").out == "no difference\n"


def test_variables_for_every_launch(cli: Cli, tmp_path: Path) -> None:
    old, new = write(tmp_path / "old.yaml", RULE), write(tmp_path / "new.yaml", RULE, more='env: {X: "1"}\n')
    answer = cli("diff", old, new)
    assert answer.code == 1
    assert "no rule -> no rule" in answer.out
    assert "X=1" in answer.out


def test_secrets_are_hidden(cli: Cli, tmp_path: Path) -> None:
    old = write(tmp_path / "old.yaml", RULE)
    new = write(tmp_path / "new.yaml", RULE, more="env: {HF_TOKEN: hf_abc}\n")
    for format_ in ("text", "json"):
        assert "hf_abc" not in cli("diff", old, new, "--format", format_).out


def test_a_witness_is_replayed(cli: Cli, tmp_path: Path) -> None:
    old, new = write(tmp_path / "old.yaml", RULE, OTHER), write(tmp_path / "new.yaml", OTHER)
    answer = cli("diff", old, new, "--format", "json")
    assert answer.code == 1
    jsonschema_rs.validator_for(load_schema("diff")).validate(answer.json)
    decision = jsonschema_rs.validator_for(load_schema("decision"))
    for difference in answer.json["differences"]:
        for side, path in (("old", old), ("new", new)):
            decision.validate(difference[side])
            facts = json.dumps(difference["facts"]).encode()
            replayed = cli("resolve", "--policy", path, "--facts", "-", "--format", "json", stdin=facts).json
            for key in ("status", "runner", "env"):
                assert replayed[key] == difference[side][key]


def test_a_release_that_nobody_describes_is_assumed(cli: Cli, tmp_path: Path) -> None:
    rule = '  - {id: later, match: {vllm: ">=7"}, runner: v1, enforce: require}\n'
    old, new = write(tmp_path / "old.yaml"), write(tmp_path / "new.yaml", rule)
    answer = cli("diff", old, new)
    assert answer.code == 1
    assert "(--assume 0.33.0)" in answer.out


def test_what_changes_nothing_is_said(cli: Cli, tmp_path: Path) -> None:
    rule = '  - {id: early, match: {vllm: "<0.12.dev0"}, runner: v1}\n'
    answer = cli("diff", write(tmp_path / "old.yaml"), write(tmp_path / "new.yaml", rule))
    assert answer.code == 0
    assert "no deployment is decided otherwise by the change of `early`" in answer.out


def test_what_was_not_settled_is_said(cli: Cli, tmp_path: Path) -> None:
    cases = ", ".join(
        f"{{any: [{{labels.x{i}: a, has_triton: true}}, {{labels.y{i}: b}}]}}" for i in range(12)
    )
    rule = f"  - {{id: large, match: {{all: [{cases}]}}, runner: v1}}\n"
    answer = cli("diff", write(tmp_path / "old.yaml"), write(tmp_path / "new.yaml", rule))
    assert answer.code == 3
    assert answer.err.startswith("not settled: large: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["configs"], "give two files or folders"),
        (["configs", "configs", "configs"], "give two files or folders"),
        (["configs", "gone"], "gone: cannot be read"),
        (["--git", "nowhere", "configs"], "--git nowhere: no such commit"),
        (["--git", "--output=x", "configs"], "--git --output=x: no such commit"),
        (["--git", "HEAD", "gone"], "gone: cannot be read"),
        (["--git", "HEAD", "/"], "/ is not in the working tree of a git repository"),
    ],
)
@pytest.mark.usefixtures("repository")
def test_what_cannot_be_compared(cli: Cli, words: list[str], message: str) -> None:
    answer = cli("diff", *words)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err


@pytest.mark.parametrize("path", ["configs", "configs/fleet.yaml", "."])
def test_the_working_tree_and_a_commit(cli: Cli, repository: Path, path: str) -> None:
    assert cli("diff", "--git", "HEAD", path).out == "no difference\n"
    write(repository / "configs" / "fleet.yaml", OTHER)
    answer = cli("diff", "--git", "HEAD", path)
    assert answer.code == 1
    assert "`pin` -> no rule" in answer.out


def test_from_a_folder_below(cli: Cli, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository / "configs")
    write(repository / "configs" / "fleet.yaml", OTHER)
    assert "`pin` -> no rule" in cli("diff", "--git", "HEAD", "fleet.yaml").out


def test_files_that_came_and_files_that_went(cli: Cli, repository: Path) -> None:
    (repository / "configs" / "fleet.yaml").unlink()
    write(repository / "policies" / "new.yaml", RULE, name="new")
    gone = cli("diff", "--git", "HEAD", "configs/fleet.yaml")
    assert gone.code == 1
    assert "`rocm` -> no rule" in gone.out
    came = cli("diff", "--git", "HEAD", "policies")
    assert came.code == 1
    assert "no rule -> `pin`" in came.out
    moved = cli("diff", "--git", "HEAD", "configs/fleet.yaml", "policies")
    assert "`rocm` -> no rule" in moved.out
    assert "`pin` ->" not in moved.out.replace("`rocm` -> `pin`", "")


def test_a_link_is_read_as_the_commit_has_it(cli: Cli, repository: Path) -> None:
    (repository / "linked.yaml").symlink_to("configs/fleet.yaml")
    for words in (
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "two"],
    ):
        subprocess.run(["git", *words], cwd=repository, check=True)
    assert cli("diff", "--git", "HEAD", "linked.yaml").out == "no difference\n"


def test_a_broken_policy_of_a_commit_is_named(cli: Cli, repository: Path) -> None:
    (repository / "configs" / "fleet.yaml").write_text("rules: [\n", "utf-8")
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *identity, "commit", "-qam", "broken"], cwd=repository, check=True)
    write(repository / "configs" / "fleet.yaml", RULE)
    answer = cli("diff", "--git", "HEAD", "configs")
    assert answer.code == 2
    assert answer.err.startswith("HEAD:configs/fleet.yaml:")


@pytest.mark.parametrize("format_", ["text", "json"])
def test_an_example_holds_no_secret(cli: Cli, tmp_path: Path, format_: str) -> None:
    rule = "  - {id: pin, match: {env.HF_TOKEN: hunter2-of-ours}, runner: v1}\n"
    paths = [write(tmp_path / "old.yaml", rule), write(tmp_path / "new.yaml")]
    answer = cli("diff", *map(str, paths), "--format", format_)
    assert answer.code == 1
    assert "****" in answer.out
    assert "hunter2-of-ours" not in answer.out


CONFIGURED = {
    "configs/ of this folder": ("", ".", "configs/fleet.yaml"),
    "those of the settings": ('policies = ["policies"]\n', ".", "policies/fleet.yaml"),
    "those of the settings, from inside": ('policies = ["policies"]\n', "configs", "policies/fleet.yaml"),
}


@pytest.mark.parametrize("case", CONFIGURED)
def test_without_a_path_it_is_the_policies_of_the_project(
    cli: Cli, repository: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    settings, folder, changed = CONFIGURED[case]
    (repository / "runnerctl.toml").write_text(settings, "utf-8")
    (repository / "policies").mkdir()
    write(repository / "policies" / "fleet.yaml")
    monkeypatch.chdir(repository / folder)
    assert cli("diff", "--git", "HEAD").out == "no difference\n"
    write(repository / changed, "  - {id: new, match: {labels.a: b}, runner: v1}\n")
    answer = cli("diff", "--git", "HEAD")
    assert answer.code == 1
    assert "-> `new`" in answer.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give two files or folders, OLD and NEW, or --git REV"),
        (["one"], "give two files or folders, OLD and NEW, or --git REV"),
        (["--git", "HEAD"], "nothing to check: no path is given"),
    ],
)
def test_paths_that_are_not_given(
    cli: Cli, repository: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    (repository / "empty").mkdir()
    monkeypatch.chdir(repository / "empty")
    answer = cli("diff", *words)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
