"""`runnerctl resolve`: exit codes, streams, JSON, batches."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from policy.document.schema import load_schema

Cli = Callable[..., Any]

HEAD = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: fleet}\n"
POLICIES = {
    "v1.yaml": HEAD + "rules:\n- {id: need-v1, match: {}, runner: v1, enforce: require}\n",
    "v2.yaml": HEAD + "rules:\n- {id: need-v2, match: {}, runner: v2, enforce: require}\n",
    "label.yaml": HEAD + "rules:\n- {id: lab, match: {labels.team: x}, runner: v1}\n",
    "tab.yaml": HEAD + "rules:\n\t- x\n",
    "dup.yaml": HEAD + "metadata: {name: again}\nrules: []\n",
    "laugh.yaml": HEAD + "rules: []\ntests:\n- a0: &a0 [x, x]\n" + "".join(
        f"  a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)
    ),
    "field.yaml": HEAD + "rules:\n- {id: a, match: {}, runner: v1, enfoce: prefer}\n",
    "number.yaml": HEAD + "rules:\n- {id: a, match: {vllm: 0.10}, runner: v1}\n",
    "nul.yaml": HEAD + "rules: [] #\x00\n",
    "two.yaml": HEAD + "rules: []\n---\n" + HEAD + "rules: []\n",
    "empty.yaml": "",
    "version.yaml": HEAD.replace("/v1", "/v9") + "rules: []\n",
    "facts.yaml": "vllm: 0.23.0\narchitectures: [LlamaForCausalLM]\n",
    "bad-facts.yaml": "vllm: 0.23.0\nmodel_config: {is_moo: true}\n",
}  # fmt: skip
LLAMA = ["--set", "architectures=[LlamaForCausalLM]"]
ASK = ["resolve", "--vllm", "0.23.0", *LLAMA]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in POLICIES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "latin.yaml").write_bytes(b"# caf\xe9\n")
    (tmp_path / "big.yaml").write_bytes(b"a: b\n" * 2_000_000)
    (tmp_path / "none").mkdir()
    return tmp_path


# words -> (exit code, a part of stdout, a part of stderr)
CALLS: dict[str, tuple[list[str], int, str, str]] = {
    "own choice": ([*ASK, "--no-policy"], 0, "v2 (vLLM 0.23.0, ok)", ""),
    "rule": ([*ASK, "--policy", "v1.yaml"], 0, "rule need-v1 (require) of policy fleet, v1.yaml:5:3", ""),
    "facts file": (["resolve", "--no-policy", "--facts", "facts.yaml"], 0, "v2 (vLLM 0.23.0, ok)", ""),
    "--set over the file": (["resolve", "--facts", "facts.yaml", "--set", "model_config.is_moe=true"], 0, "v1 (", ""),
    "--vllm over the file": (["resolve", "--facts", "facts.yaml", "--vllm", "0.22.0"], 0, "v1 (vLLM 0.22.0", ""),
    "error": ([*ASK, "--policy", "v2.yaml", "--set", "speculative_config.method=suffix"], 1, "speculative method 'suffix'", ""),
    "conflict": ([*ASK, "--policy", "v1.yaml", "--policy", "v2.yaml"], 1, "[conflicting-rules]", ""),
    "invalid switch": ([*ASK, "--set", "env.VLLM_USE_V2_MODEL_RUNNER=true"], 1, "[invalid-switch]", ""),
    "strict": ([*ASK, "--policy", "v1.yaml", "--strict-env", "--set", "env.VLLM_USE_V2_MODEL_RUNNER=1"], 1, "[overridden-switch]", ""),
    "undetermined": ([*ASK, "--set", "unknown=[model_config.is_moe]"], 3, "`model_config.is_moe`", ""),
    "unknown release": (["resolve", "--vllm", "0.99.0", *LLAMA], 3, "--assume 0.33.0", ""),
    "assumed release": (["resolve", "--vllm", "0.99.0", "--assume", "0.33.0", *LLAMA], 0, "v2 (vLLM 0.33.0", ""),
    "explain": ([*ASK, "--policy", "label.yaml", "--explain"], 0, "- policy lab: prefer v1", ""),
    "nothing": (["resolve"], 2, "", "nothing to resolve"),
    "only a release": (["resolve", "--vllm", "0.23.0"], 2, "", "nothing to resolve"),
    "no verb": ([], 2, "", ""),
    "no such verb": (["resolv"], 2, "", ""),
    "no such option": ([*ASK, "--polici", "x"], 2, "", "--polic"),
    "no such format": ([*ASK, "--format", "xml"], 2, "", "xml"),
    "no release": (["resolve", "--vllm", "latest", *LLAMA], 2, "", "`latest` is not a release"),
    "policy and no policy": ([*ASK, "--no-policy", "--policy", "v1.yaml"], 2, "", "exclude each other"),
    "batch and facts": (["resolve", "--batch", "-", "--facts", "facts.yaml"], 2, "", "--batch takes its facts from"),
    "missing policy": ([*ASK, "--policy", "missing.yaml"], 2, "", "missing.yaml: cannot be read: no such file"),
    "folder without policies": ([*ASK, "--policy", "none"], 2, "", "none: the folder holds no policy file"),
    "missing facts": (["resolve", "--facts", "missing.yaml"], 2, "", "missing.yaml: cannot be read"),
    "missing batch": (["resolve", "--batch", "missing.jsonl"], 2, "", "missing.jsonl: cannot be read"),
    "wrong facts": (["resolve", "--facts", "bad-facts.yaml"], 2, "", "bad-facts.yaml:2:16: unknown fact `model_config.is_moo`"),
    "wrong --set": ([*ASK, "--set", "model_config.is_moo=true"], 2, "", "did you mean `model_config.is_moe`"),
    "--set without a value": ([*ASK, "--set", "platform"], 2, "", "--set path=value"),
    "--set of a wrong type": ([*ASK, "--set", "model_config.is_moe=yes"], 2, "", "`is_moe` is `yes`"),
    "--set that is no YAML": ([*ASK, "--set", "architectures=[x"], 2, "", "--set architectures=[x"),
    "no such catalog": ([*ASK, "--catalog", "none"], 2, "", "no folder `releases`"),
    "tab": ([*ASK, "--policy", "tab.yaml"], 2, "", "tab.yaml:5:"),
    "duplicate key": ([*ASK, "--policy", "dup.yaml"], 2, "", "dup.yaml:4:1: the key `metadata` stands twice"),
    "billion laughs": ([*ASK, "--policy", "laugh.yaml"], 2, "", "once its aliases are expanded"),
    "unknown field": ([*ASK, "--policy", "field.yaml"], 2, "", "did you mean `enforce`?"),
    "release as a number": ([*ASK, "--policy", "number.yaml"], 2, "", 'help: quote it: "0.10"'),
    "NUL": ([*ASK, "--policy", "nul.yaml"], 2, "", "nul.yaml:4:"),
    "two documents": ([*ASK, "--policy", "two.yaml"], 2, "", "two.yaml:5:1: the file holds more than one"),
    "empty file": ([*ASK, "--policy", "empty.yaml"], 2, "", "empty.yaml:1:1: the file is empty"),
    "unknown version": ([*ASK, "--policy", "version.yaml"], 2, "", "version.yaml:1:13: `apiVersion` is `runnerctl/v9`"),
    "not UTF-8": ([*ASK, "--policy", "latin.yaml"], 2, "", "latin.yaml:1:6: the file is not UTF-8"),
    "10 MB": ([*ASK, "--policy", "big.yaml"], 2, "", "big.yaml: the file is too large"),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_exit_code_and_streams(cli: Cli, case: str) -> None:
    words, code, out, err = CALLS[case]
    answer = cli(*words)
    assert answer.code == code
    assert out in answer.out
    assert err in answer.err
    assert "Traceback" not in answer.err
    if code == 2:
        assert answer.out == "", "data alone goes to stdout"
    else:
        assert answer.err == ""


@pytest.mark.parametrize(
    "case", [c for c, call in CALLS.items() if call[1] in (0, 1, 3) and "--explain" not in call[0]]
)
def test_json_is_all_of_stdout_and_fits_the_schema(cli: Cli, case: str) -> None:
    words, code, *_ = CALLS[case]
    answer = cli(*words, "--format", "json")
    assert (answer.code, answer.err) == (code, "")
    jsonschema.validate(answer.json, load_schema("decision"))
    assert {"ok": 0, "error": 1, "undetermined": 3}[answer.json["status"]] == code


def test_json_with_an_explanation(cli: Cli) -> None:
    answer = cli(*ASK, "--policy", "label.yaml", "--policy", "label.yaml", "--explain", "--format", "json")
    jsonschema.validate(answer.json, load_schema("decision"))
    first = answer.json["explanation"][0]
    assert (first["rule"], first["matched"], first["location"]) == ("lab", False, "label.yaml:5:3")


def test_facts_from_standard_input(cli: Cli) -> None:
    answer = cli("resolve", "--no-policy", "--facts", "-", stdin=POLICIES["facts.yaml"].encode())
    assert (answer.code, answer.out.splitlines()[0]) == (0, "runner      v2 (vLLM 0.23.0, ok)")
    wrong = cli("resolve", "--no-policy", "--facts", "-", stdin=b"a: [\n")
    assert wrong.code == 2
    assert wrong.err.startswith("<stdin>:2:1: ")


def test_release_as_text_in_every_place(cli: Cli) -> None:
    Path("f.yaml").write_text("vllm: 0.10\n")
    assert 'quote it: "0.10"' in cli("resolve", "--facts", "f.yaml").err
    assert cli("resolve", "--set", "vllm=0.10", *LLAMA).code == 3
    assert "vLLM 0.10 " in cli("resolve", "--set", "vllm=0.10", *LLAMA).out
    line = b'{"id": 1, "vllm": 0.10, "facts": {}}\n'
    assert "quote it" in cli("resolve", "--batch", "-", stdin=line).json["errors"][0]["message"]


def test_command(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(
        '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 2}'
    )
    words = ["resolve", "--no-policy", "--vllm", "0.23.0", "--format", "json", "--"]
    for command in (
        ["vllm", "serve", "model"],
        ["vllm", "serve", "model", "--enforce-eager"],
        ["python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "model"],
        ["env", "A=1", "vllm", "serve", "model"],
    ):
        assert cli(*words, *command).json["runner"] == "v2", command
    switched = cli(*words, "env", "VLLM_USE_V2_MODEL_RUNNER=0", "vllm", "serve", "model").json
    assert (switched["runner"], switched["decided_by"]["layer"]) == ("v1", "environment")


# --batch: line -> (status, runner, a part of the error)
LINES: list[tuple[str, str, str | None, str]] = [
    ('{"id": "a", "vllm": "0.23.0", "facts": {"architectures": ["LlamaForCausalLM"]}}', "ok", "v2", ""),
    ('{"id": {"deep": [1]}, "vllm": "0.22.0", "facts": {"model_config.architectures": ["LlamaForCausalLM"]}}', "ok", "v1", ""),
    ("not json", "error", None, "line 3: not JSON"),
    ('{"id": 4}', "error", None, ""),
    ('[1]', "error", None, "not a JSON object"),
    ('{"id": 6, "vllm": "0.23.0", "fact": {}}', "error", None, "unknown field `fact`"),
    ('{"id": 7, "vllm": "0.23.0", "facts": []}', "error", None, "`facts` is not a mapping"),
    ('{"id": 8, "vllm": "0.23.0", "facts": {"model_config": {"is_moo": true}}}', "error", None, "is_moo"),
    ('{"id": 9, "vllm": "0.23.0", "facts": {"model_config": {"is_moe": "yes"}}}', "error", None, "is_moe"),
    ('{"id": 10, "vllm": "nonsense", "facts": {}}', "error", None, "not a release"),
    ('{"id": 11, "vllm": "0.23.0", "facts": {"env": {"VLLM_USE_V2_MODEL_RUNNER": "true"}}}', "error", None, "reads an integer"),
    ('{"id": 12, "facts": {"vllm": "0.23.0", "architectures": ["LlamaForCausalLM"]}}', "ok", "v2", ""),
    ('{"id": 13, "vllm": "0.99.0", "facts": {}}', "undetermined", None, "--assume 0.33.0"),
    ('{"id": 14, "vllm": "0.29.0", "facts": {"model": "caf\\u00e9 \\ud800"}}', "ok", "v2", ""),
    ("[" * 5000, "error", None, "not JSON"),
]  # fmt: skip


def test_batch_answers_every_line_in_order(cli: Cli) -> None:
    text = "\n\n".join(line for line, *_ in LINES)  # empty lines are skipped, but counted
    answer = cli("resolve", "--no-policy", "--batch", "-", "--format", "json", stdin=text.encode())
    assert (answer.code, answer.err) == (2, "")
    answers = [json.loads(line) for line in answer.out.splitlines()]
    assert len(answers) == len(LINES)
    validator = jsonschema.Draft202012Validator(load_schema("decision"))
    for found, (line, status, runner, part) in zip(answers, LINES, strict=True):
        validator.validate(found)
        if line == '{"id": 4}':
            assert found["status"] in ("undetermined", "error")
            continue
        assert (found["status"], found["runner"]) == (status, runner), line
        assert part.replace("line 3", "line 5") in " ".join(e["message"] for e in found["errors"])
    ids = [a["id"] for a in answers]
    del ids[5]  # below
    assert ids == ["a", {"deep": [1]}, None, 4, None, 7, 8, 9, 10, 11, 12, 13, 14, None]


# A line that a facts file would be refused for, or that could not be answered in JSON.
@pytest.mark.parametrize(
    ("line", "part"),
    [
        ('{"id": 1, "vllm": "0.23.0", "facts": {"model_config": {"is_moe": true}, "model_config": {}}}', "`model_config` stands twice"),
        ('{"id": 1, "id": 2, "vllm": "0.23.0"}', "`id` stands twice"),
        ('{"id": 1e999, "vllm": "0.23.0"}', "1e999 is larger than any number"),
        ('{"id": 1, "vllm": "0.23.0", "facts": {"cache_config": {"gpu_memory_utilization": 1e999}}}', "larger than any number"),
    ],
)  # fmt: skip
def test_batch_refuses_what_a_facts_file_is_refused_for(cli: Cli, line: str, part: str) -> None:
    answer = cli("resolve", "--no-policy", "--batch", "-", stdin=line.encode())
    assert answer.code == 2
    (found,) = [json.loads(text) for text in answer.out.splitlines()]
    assert part in found["errors"][0]["message"]


LONG = 8 * 1024 * 1024


@pytest.mark.parametrize(
    ("length", "part"),
    [
        (LONG - 1, "not JSON"),
        (LONG, "too long: the limit is 8 MiB"),  # with its end it is one more
        (3 * LONG, "too long"),
    ],
)
def test_batch_reads_no_more_of_a_line_than_is_sensible(cli: Cli, length: int, part: str) -> None:
    text = b"x" * length + b'\n{"id": 2, "vllm": "0.23.0"}\n'
    answer = cli("resolve", "--no-policy", "--batch", "-", stdin=text)
    first, second = [json.loads(line) for line in answer.out.splitlines()]
    assert part in first["errors"][0]["message"]
    assert (second["id"], second["status"]) == (2, "ok")


def test_batch_may_begin_with_a_byte_order_mark(cli: Cli) -> None:
    line = '{"id": 1, "vllm": "0.23.0", "facts": {"architectures": ["LlamaForCausalLM"]}}'
    answer = cli("resolve", "--no-policy", "--batch", "-", stdin=b"\xef\xbb\xbf" + line.encode())
    assert (answer.code, json.loads(answer.out)["runner"]) == (0, "v2")


@pytest.mark.parametrize(
    ("lines", "code"), [([0, 1], 0), ([0, 10], 1), ([0, 12], 3), ([12, 10], 1), ([0, 2, 10, 12], 2)]
)
def test_batch_exits_with_the_worst_line(cli: Cli, lines: list[int], code: int) -> None:
    text = "\n".join(LINES[i][0] for i in lines)
    assert cli("resolve", "--no-policy", "--batch", "-", stdin=text.encode()).code == code


@pytest.mark.parametrize("text", [b"", b"\n  \n"])
def test_empty_batch_is_nothing_to_check(cli: Cli, text: bytes) -> None:
    answer = cli("resolve", "--batch", "-", stdin=text)
    assert (answer.code, answer.out) == (2, "")
    assert "nothing to resolve" in answer.err


def test_batch_under_policies(cli: Cli) -> None:
    lines = b'{"id": 1, "facts": {"labels.team": "x"}}\n{"id": 2, "facts": {"labels": {"team": "y"}}}\n'
    answer = cli("resolve", "--policy", "label.yaml", "--vllm", "0.30.0", "--batch", "-", stdin=lines)
    assert [json.loads(line)["runner"] for line in answer.out.splitlines()] == ["v1", "v2"]


@pytest.mark.parametrize("setting", ["parallel_config.enable_dbo=5", "model_config.is_moe=1"])
def test_wrong_number_with_set(cli: Cli, setting: str) -> None:
    assert cli(*ASK, "--set", setting).code == 2


def test_wrong_number_in_a_batch(cli: Cli) -> None:
    lines = b'{"id": 1, "vllm": "0.23.0", "facts": {"model_config": {"is_moe": 1}}}\n'
    lines += LINES[0][0].encode()
    assert len(cli("resolve", "--batch", "-", stdin=lines).out.splitlines()) == 2


def test_bad_line_keeps_its_id(cli: Cli) -> None:
    answer = cli("resolve", "--batch", "-", stdin=b'{"id": 6, "vllm": "0.23.0", "fact": {}}\n')
    assert answer.json["id"] == 6


def process(*words: str, stdin: bytes = b"") -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from runnerctl.cli.main import run; run()", *words]
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdin is not None
    running.stdin.write(stdin)
    running.stdin.close()
    return running


def test_reader_that_leaves() -> None:
    lines = b'{"id": 1, "vllm": "0.23.0", "facts": {}}\n' * 2000
    Path("many.jsonl").write_bytes(lines)
    running = process("resolve", "--no-policy", "--batch", "many.jsonl")
    assert running.stdout is not None
    assert running.stderr is not None
    assert json.loads(running.stdout.readline())["id"] == 1
    running.stdout.close()
    err = running.stderr.read()
    running.stderr.close()
    code = running.wait()
    assert err == b""
    assert code in (1, 141)


def test_no_colour_and_no_engine_imports() -> None:
    running = process(*ASK, "--no-policy")
    assert running.stdout is not None
    assert running.stderr is not None
    out, err = running.stdout.read(), running.stderr.read()
    running.stdout.close()
    running.stderr.close()
    assert running.wait() == 0
    assert b"\x1b" not in out
    assert err == b""
