"""What is worked out of the measurements: the report, the rule, the page and the pictures."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from policy.decision.expectations import decide_test, unmet
from policy.document import Document, Source, parse
from policy.document.schema import check
from policy.engine import Catalog
from policy.rules.policy_set import compose, read_policy
from runnerctl.parity.markdown import markdown_of
from runnerctl.parity.plots import PlotsUnavailable, draw
from runnerctl.parity.rule import rule_text
from tests.conftest import Answer
from tests.parity.reports import ALL, DIFFERENT, ONE_SIDED, SAME

TODAY = date(2026, 12, 1)


@pytest.mark.parametrize("name", ALL)
def test_every_report_fits_the_schema(name: str) -> None:
    check(Document.unmarked(name, ALL[name]), "parity")


@pytest.mark.parametrize(
    ("name", "answers", "speed", "text"),
    [
        ("same", "same", "same", "v1 and v2 answer the same; v1 and v2 are as fast as each other"),
        ("faster", "same", "faster", "v1 and v2 answer the same; v2 is faster than v1 (batches of 1, 8)"),
        ("slower", "same", "slower", "v1 and v2 answer the same; v2 is slower than v1 (batches of 1, 8)"),
        ("different", "different", "same", "v1 and v2 answer differently; "),
        ("noisy", "same", "undetermined", "v1 and v2 answer the same; which is faster cannot be told"),
        ("wavering", "undetermined", "same", "whether they answer the same cannot be told; "),
        ("one-sided", "not-compared", "not-compared", "only v1 could be measured"),
    ],
)
def test_the_verdict(name: str, answers: str, speed: str, text: str) -> None:
    verdict = ALL[name]["verdict"]
    assert (verdict["answers"], verdict["speed"]) == (answers, speed)
    assert verdict["text"].startswith(text)


@pytest.mark.parametrize(
    ("name", "runner", "enforce"),
    [
        ("same", "v2", "prefer"),
        ("faster", "v2", "prefer"),
        ("slower", "v1", "prefer"),
        ("different", "v1", "require"),
        ("wavering", None, None),
        ("noisy", None, None),
        ("one-sided", None, None),
    ],
)
def test_the_rule_is_a_policy_that_passes_its_own_test(
    name: str, runner: str | None, enforce: str | None
) -> None:
    text = rule_text(ALL[name], TODAY)
    if runner is None:
        assert text is None
        return
    assert text is not None
    policies = compose([read_policy(parse(Source("rule.yaml", text)))])
    (rule,) = policies.rules
    assert (rule.runner, rule.enforce, rule.expires) == (runner, enforce, "2027-03-01")
    assert ALL[name]["verdict"]["text"] in rule.reason
    (case,) = policies.files[0].tests
    assert list(unmet(decide_test(policies, Catalog(), case), case.expect)) == []


def test_figures_are_over_all_engines_and_repeats() -> None:
    figures = SAME["figures"]["v1"]
    assert figures["start_seconds"]["-"]["count"] == 2
    assert figures["tokens_per_second"]["8"] == {
        "median": pytest.approx(8 * 5 / 1.005, rel=1e-2),
        "low": pytest.approx(8 * 5 / 1.01),
        "lower": pytest.approx(8 * 5 / 1.01),
        "upper": 40.0,
        "high": 40.0,
        "count": 4,
        "relative": pytest.approx(0.01, rel=0.1),
    }
    # four of the five tokens come after the first
    assert figures["seconds_per_token"]["1"]["low"] == pytest.approx((1.0 - 0.2) / 4)


@pytest.mark.parametrize("name", ALL)
def test_the_page_says_what_the_report_says(name: str) -> None:
    report = ALL[name]
    rule = rule_text(report, TODAY)
    page = markdown_of(report, rule, ["throughput.svg"])
    text = report["verdict"]["text"]
    assert f"**{text[0].upper()}{text[1:]}.**" in page
    assert report["command"] in page
    assert "![throughput](throughput.svg)" in page
    for finding in report["findings"]:
        assert finding["why"] in page
    for why in report["skipped"].values():
        assert why in page
    assert (rule or "## The rule that this supports\n\nNone: ") in page
    assert "vllm.v1.worker.gpu_model_runner" in page


def test_where_answers_part_is_on_the_page() -> None:
    assert "| 0 | 1 | 7, 8 | 0.500 |" in markdown_of(DIFFERENT, None, [])


@pytest.mark.parametrize(("name", "count"), [("same", 5), ("one-sided", 4)])
def test_the_pictures(name: str, count: int, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    names = draw(ALL[name], tmp_path, ["png", "svg"])
    assert len(names) == 2 * count
    for file in names:
        head = (tmp_path / file).read_bytes()[:200]
        assert head.startswith(b"\x89PNG") if file.endswith(".png") else b"<?xml" in head
    again = tmp_path / "again"
    again.mkdir()
    draw(ALL[name], again, ["svg"])
    assert (again / "start.svg").read_bytes() == (tmp_path / "start.svg").read_bytes()


def test_without_matplotlib_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PlotsUnavailable, match=r"pip install 'runnerctl\[parity\]'"):
        draw(ONE_SIDED, tmp_path, ["png"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("same", 0),
        ("faster", 0),
        ("slower", 0),
        ("noisy", 0),
        ("different", 1),
        ("wavering", 3),
        ("one-sided", 3),
    ],
)
def test_an_earlier_report_is_written_anew(
    cli: Callable[..., Answer], tmp_path: Path, name: str, code: int
) -> None:
    given = tmp_path / "given.json"
    given.write_text(json.dumps(ALL[name]))
    folder = tmp_path / "out"
    answer = cli("parity", "--from", given, "-o", folder, "--plots", "none")
    assert answer.code == code
    assert answer.out.startswith(ALL[name]["verdict"]["text"])
    assert json.loads((folder / "report.json").read_text()) == ALL[name]
    assert (folder / "rule.yaml").exists() is (rule_text(ALL[name], TODAY) is not None)
    assert (
        cli("parity", "--from", given, "-o", folder, "--plots", "none", "--format", "json").json == ALL[name]
    )
    markdown = cli("parity", "--from", given, "-o", folder, "--plots", "none", "--format", "markdown")
    assert markdown.out == (folder / "report.md").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to compare: give MODEL"),
        (["m", "--against", "v1"], "--against v1: name both runners"),
        (["m", "--against", "v1,v3"], "`v3` is no model runner"),
        (["m", "--batch-sizes", "1,x"], "--batch-sizes 1,x: write whole numbers"),
        (["m", "--batch-sizes", "0"], "--batch-sizes 0: must be at least 1"),
        (["m", "--output-tokens", "1"], "--output-tokens: must be at least 2"),
        (["m", "--repeats", "0"], "--repeats: must be at least 1"),
        (["m", "--starts", "0"], "--starts: must be at least 1"),
        (["m", "--plots", "pdf"], "--plots pdf: `pdf` is none of png, svg and none"),
        (["m", "--prompts", "nowhere.txt"], "nowhere.txt: cannot be read: no such file"),
        (["m", "--from", "x.json"], "give one of the two"),
        (["--from", "nowhere.json"], "nowhere.json"),
        (["m"], "no vLLM is installed for"),
    ],
)
def test_what_cannot_be_asked(
    cli: Callable[..., Answer],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = cli("parity", *words)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [("\n\n", "no prompt"), ("ok\n[1, -2]\n", "p.txt:2:1: a list of token ids"), ("[]", "p.txt:1:1: a list")],
)
def test_prompts_that_cannot_be_used(
    cli: Callable[..., Answer], tmp_path: Path, text: str, message: str
) -> None:
    prompts = tmp_path / "p.txt"
    prompts.write_text(text)
    answer = cli("parity", "m", "--prompts", prompts)
    assert answer.code == 2
    assert message in answer.err


def test_a_report_that_is_none_is_refused_with_its_place(cli: Callable[..., Answer], tmp_path: Path) -> None:
    broken: dict[str, Any] = {**SAME, "verdict": {**SAME["verdict"], "answers": "maybe"}}
    given = tmp_path / "r.json"
    given.write_text(json.dumps(broken, indent=1))
    answer = cli("parity", "--from", given, "-o", tmp_path / "out")
    assert answer.code == 2
    assert "r.json:" in answer.err
    assert not (tmp_path / "out").exists()
