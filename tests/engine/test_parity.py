"""`runnerctl parity` on real engines: on the CPU only V1 can be served, so one side is measured and it says so."""

from __future__ import annotations

import json
import subprocess

from policy.document import Document
from policy.document.schema import check
from tests.engine.conftest import START_LIMIT, Engine
from tools.tiny_model import SERVE_ARGUMENTS


def test_one_runner_is_measured_through_the_launch_and_the_guard(engine: Engine) -> None:
    prompts = engine.scratch / "prompts.txt"
    prompts.write_text("w5 w6 w7\n[5, 6, 7]\n")
    folder = engine.scratch / "parity"
    asked = (
        "--max-tokens",
        "6",
        "--batch-sizes",
        "1,4",
        "--output-tokens",
        "8",
        "--repeats",
        "2",
        "--starts",
        "1",
    )
    done = subprocess.run(
        [
            *(engine.bin / "runnerctl", "parity", engine.model, "--prompts", prompts, "-o", folder),
            *(*asked, "--plots", "none", "--", *SERVE_ARGUMENTS),
        ],
        env=engine.environment(VLLM_USE_V2_MODEL_RUNNER="1"),  # against the force
        capture_output=True,
        text=True,
        timeout=START_LIMIT,
        check=False,
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stdout.startswith("only v1 could be measured")
    assert "Model Runner V2 requires Triton." in done.stdout

    report = json.loads((folder / "report.json").read_text())
    check(Document.unmarked("report.json", report), "parity")
    assert (report["measured"], list(report["skipped"])) == (["v1"], ["v2"])
    (run,) = report["runs"]
    assert sorted(p["role"] for p in run["processes"]) == ["engine-core", "front-end", "worker"]
    assert {p["runner"] for p in run["processes"]} == {"v1"}
    answers = run["measured"]["answers"]
    assert [len(answer["tokens"]) for answer in answers] == [6, 6]
    for answer in answers:
        assert abs(sum(answer["logprobs"]) - answer["cumulative_logprob"]) < 1e-3
        assert min(answer["margins"]) >= 0  # greedy: the chosen token is the likeliest
    assert run["measured"]["answers_again"] is None
    speed = report["figures"]["v1"]
    assert speed["tokens_per_second"]["4"]["count"] == 2
    assert 0 < speed["first_token_seconds"]["1"]["low"] < speed["start_seconds"]["-"]["median"]
    assert not (folder / "rule.yaml").exists()
    assert "None: a rule needs two runners" in (folder / "report.md").read_text()
