"""`runnerctl upgrade` from its options to its output and exit code."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import jsonschema
import pytest
import yaml

from runnerctl.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "schemas" / "upgrade.schema.json").read_text("utf-8"))
LLAMA = {"model_config": {"architectures": ["LlamaForCausalLM"]}}
OPT = {"model_config": {"architectures": ["OPTForCausalLM"]}}
UNKNOWN = {**LLAMA, "unknown": ["model_config.is_moe"]}
DIFFUSION = {
    "model_config": {"architectures": ["LlamaForCausalLM"], "is_diffusion": True},
    "env": {"VLLM_USE_V2_MODEL_RUNNER": "0"},
}
TO_23 = ["--from", "0.22.0", "--to", "0.23.0"]
TO_29 = ["--from", "0.28.0", "--to", "0.29.0"]


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def runnerctl(*arguments: str, given: str = "") -> Done:
    """The command in this process: starting another one for each row takes a minute."""
    out, err = io.StringIO(), io.StringIO()
    stdin = io.TextIOWrapper(io.BytesIO(given.encode()))
    with (
        mock.patch.object(sys, "argv", ["runnerctl", "upgrade", *arguments]),
        mock.patch.object(sys, "stdin", stdin),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as left,
    ):
        run()
    return Done(int(left.value.code or 0), out.getvalue(), err.getvalue())


def lines(*facts: Any) -> str:
    return "".join(
        (f if isinstance(f, str) else json.dumps({"id": f"d{i}", "facts": f})) + "\n"
        for i, f in enumerate(facts)
    )


@pytest.mark.parametrize(
    ("releases", "facts", "options", "code"),
    [
        (TO_23, [LLAMA, OPT], [], 0),
        (TO_23, [LLAMA, OPT], ["--fail-on", "flip"], 1),
        (TO_23, [LLAMA, OPT], ["--fail-on", "error"], 0),
        (TO_23, [LLAMA, OPT], ["--fail-on", "flip,error"], 1),
        (TO_23, [LLAMA, OPT], ["--fail-on", "error", "--fail-on", "flip"], 1),
        (TO_29, [DIFFUSION], ["--fail-on", "flip, error"], 1),
        (TO_29, [DIFFUSION], [], 0),
        (TO_23, [UNKNOWN], [], 3),
        (TO_23, [UNKNOWN, LLAMA], ["--fail-on", "flip"], 1),
        (TO_23, [UNKNOWN], ["--fail-on", "undetermined"], 1),
        (TO_23, [LLAMA, "nonsense"], ["--fail-on", "flip"], 2),
        (["--from", "0.32.0", "--to", "0.99.0"], [LLAMA], [], 3),
        (["--from", "0.32.0", "--to", "0.99.0"], [LLAMA], ["--assume", "0.33.0"], 0),
    ],
)
@pytest.mark.parametrize("format_", ["text", "json", "markdown"])
def test_exit_codes(
    releases: list[str], facts: list[Any], options: list[str], code: int, format_: str
) -> None:
    done = runnerctl(*releases, *options, "--format", format_, "--batch", "-", given=lines(*facts))
    assert done.returncode == code, done.stderr
    assert done.stdout


@pytest.mark.parametrize(
    ("arguments", "given", "message"),
    [
        (TO_23, "", "nothing to compare: give facts files"),
        ([*TO_23, "--batch", "-"], "\n\n", "nothing to compare: no line"),
        ([*TO_23, "--set", "platform=rocm", "--fail-on", "flp"], "", "no kind `flp`; did you mean `flip`?"),
        ([*TO_23, "--set", "platform=rocm", "--fail-on", ""], "", "flip, error, fixed, undetermined, same"),
        (["--from", "0.22.0", "--set", "platform=rocm"], "", "give --from RELEASE and --to RELEASE"),
        (["--from", "0.22.0", "--to", "0.22.0", "--set", "platform=rocm"], "", "are both 0.22.0"),
        (["--from", "new", "--to", "0.22.0", "--set", "platform=rocm"], "", "`new` is not a release"),
        ([*TO_23, "no-such-file.yaml"], "", "no-such-file.yaml"),
        ([*TO_23, "--batch", "no-such-file.jsonl"], "", "no-such-file.jsonl: cannot be read"),
        ([*TO_23, "--set", "modl=x"], "", "unknown fact `modl`"),
    ],
)
def test_bad_usage_is_exit_2_and_says_why(arguments: list[str], given: str, message: str) -> None:
    done = runnerctl(*arguments, given=given)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_names_come_from_stems_ids_and_labels(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "chat.yaml").write_text(yaml.safe_dump(LLAMA))
    (tmp_path / "search.json").write_text(json.dumps(OPT))
    files = [
        str(tmp_path / "a" / "chat.yaml"),
        str(tmp_path / "b" / "chat.yaml"),
        str(tmp_path / "search.json"),
    ]
    batch = tmp_path / "fleet.jsonl"
    entries = [
        {"id": "by-id", "facts": LLAMA},
        {"id": 7, "facts": {}},
        {"facts": {"labels": {"name": "by-label"}}},
    ]
    batch.write_text("".join(json.dumps(entry) + "\n" for entry in [*entries, {"facts": {}}]))
    done = runnerctl(*TO_23, *files, "--batch", str(batch), "--format", "json")
    names = [entry["name"] for entry in json.loads(done.stdout)["deployments"]]
    assert names == [files[0], files[1], "search", "by-id", "7", "by-label", "line 4"]


def test_json_fits_its_schema(tmp_path: Path) -> None:
    policy = tmp_path / "fleet.yaml"
    rule = {"id": "old", "match": {"vllm": "<0.23"}, "runner": "v1", "enforce": "require", "reason": "it was"}
    document = {
        "apiVersion": "runnerctl/v1",
        "kind": "RunnerPolicy",
        "metadata": {"name": "f"},
        "rules": [rule],
    }
    policy.write_text(yaml.safe_dump(document))
    given = lines(LLAMA, OPT, UNKNOWN, "nonsense", json.dumps({"id": 1, "fact": {}}), {"modl": 1})
    done = runnerctl(*TO_23, "-p", str(policy), "--batch", "-", "--format", "json", given=given)
    report = json.loads(done.stdout)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    assert report["summary"]["deployments"] == 3
    assert report["summary"]["invalid"] == len(report["invalid"]) == 3
    assert [(pin["rule"], pin["state"], pin["deployments"]) for pin in report["pins"]] == [("old", "dead", 3)]
    assert "line 5: unknown field `fact`" in report["invalid"][1]["message"]


def test_set_goes_over_every_deployment() -> None:
    facts = lines({"model_config": {"architectures": ["GlmMoeDsaForCausalLM"]}})
    arguments = ["--from", "0.29.0", "--to", "0.30.0", "--batch", "-", "--format", "json"]
    kinds = [
        json.loads(runnerctl(*arguments, *more, given=facts).stdout)["deployments"][0]["kind"]
        for more in ([], ["--set", "platform=rocm"])
    ]
    assert kinds == ["same", "flip"]
    settled = runnerctl(*TO_23, "--batch", "-", "--set", "model_config.is_moe=false", given=lines(UNKNOWN))
    assert "1 flip (1 v1->v2)" in settled.stdout


def test_text_begins_with_the_counts_and_names_only_what_matters() -> None:
    done = runnerctl(*TO_23, "--batch", "-", given=lines(LLAMA, OPT))
    first, *rest = done.stdout.splitlines()
    assert first.startswith("vLLM 0.22.0 -> 0.23.0, 2 deployments: 1 flip (1 v1->v2), 0 start to fail")
    assert "d0: flips v1->v2" in rest
    assert not any(line.startswith("d1") for line in rest)
    assert any("- id: keep-v1-llamaforcausallm-" in line for line in rest)


def test_markdown_escapes_what_the_user_wrote() -> None:
    hostile = "a|b <img> @all `x` [l](u)\nnext"
    given = json.dumps({"id": hostile, "facts": LLAMA})
    done = runnerctl(*TO_23, "--batch", "-", "--format", "markdown", given=given)
    row = next(line for line in done.stdout.splitlines() if line.startswith("| a"))
    assert row.startswith(
        r"| a\|b &lt;img&gt; @<!-- -->all \`x\` \[l\](u)\\nnext | **flips** v1→v2 | v1 | v2 |"
    )
    assert "<img>" not in done.stdout.split("```")[0]


def test_markdown_fits_into_a_comment_and_counts_the_rest() -> None:
    many = [{**LLAMA, "model": f"org/model-{i}"} for i in range(1500)]
    done = runnerctl(*TO_23, "--batch", "-", "--format", "markdown", given=lines(*many))
    assert len(done.stdout) < 65_536
    assert "more deployments are not shown here" in done.stdout
    assert "1500 flip" in done.stdout


def test_control_characters_do_not_reach_the_terminal() -> None:
    given = json.dumps({"id": "a\x1b[31mb", "facts": LLAMA})
    assert "\x1b" not in runnerctl(*TO_23, "--batch", "-", given=given).stdout
