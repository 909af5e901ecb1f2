"""`runnerctl matrix` from its options to every format, the page in docs/, and its time."""

from __future__ import annotations

import contextlib
import html.parser
import io
import json
import re
import shlex
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import jsonschema
import pytest
import yaml

from policy.engine import Catalog
from runnerctl.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
LLAMA = ["--architecture", "LlamaForCausalLM"]


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def runnerctl(*arguments: str) -> Done:
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["runnerctl", "matrix", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as left,
    ):
        run()
    return Done(int(left.value.code or 0), out.getvalue(), err.getvalue())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--architecture", "LlamaForCasualLM"], 2, "did you mean `LlamaForCausalLM`"),
        (["--architecture", "Nothing*"], 2, "no release shown here registers it"),
        (["--release", "new"], 2, "`new` is not a release"),
        (["--release", ">=0.99"], 2, "no release of the catalog is in it"),
        (["--release", ">=x"], 2, "not a PEP 440 version specifier"),
        (["--release", "0.99.0"], 3, "newer than the catalog"),
        (["--release", "0.99.0"], 3, "; --assume 0.33.0 decides as that release does"),
        (["--release", "0.99.0", "--assume", "0.98"], 2, "--assume 0.98: it is newer than the catalog"),
        (["--release", "new", "--assume", "0.33.0"], 2, "`new` is not a release"),
        (["--release", ">=0.99", "--assume", "0.33.0"], 2, "no release of the catalog is in it"),
        (["--set", "vllm=0.22.0"], 2, "give --release RELEASE"),
        (["--set", "architectures=[A]"], 2, "give --architecture GLOB"),
        (["--set", "model_config=null"], 2, "a matrix is about models"),
        (["--set", "modl=x"], 2, "unknown fact `modl`"),
        ([*LLAMA, "-o", "no/such/folder/x.html"], 2, "cannot be written"),
        (["--policy", "no-such.yaml"], 2, "no-such.yaml"),
    ],
)
def test_bad_usage(arguments: list[str], code: int, message: str) -> None:
    done = runnerctl(*arguments)
    assert done.returncode == code
    assert message in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("releases", "shown"),
    [
        (["0.23.0"], ["0.23.0"]),
        (["0.24.0", "0.23.0"], ["0.23.0", "0.24.0"]),
        (["0.23.0+cu129", "0.23.0"], ["0.23.0"]),
        ([">=0.22,<0.24"], ["0.22.0", "0.22.1", "0.23.0"]),
    ],
)
def test_releases(releases: list[str], shown: list[str]) -> None:
    options = [word for release in releases for word in ("--release", release)]
    assert json.loads(runnerctl(*options, *LLAMA, "--format", "json").stdout)["releases"] == shown


# Releases, the one that is assumed, the columns, who decides for those that are not described, and Llama's runners.
ASSUMED: dict[str, tuple[list[str], str, list[str], dict[str, str], list[str]]] = {
    "a nightly build": (["0.23.dev7"], "0.22.1", ["0.23.dev7"], {"0.23.dev7": "0.22.1"}, ["v1"]),
    "in its place among others": (
        ["0.23.0", "0.23.dev7", "0.22.1"], "0.23.0", ["0.22.1", "0.23.dev7", "0.23.0"], {"0.23.dev7": "0.23.0"},
        ["v1", "v2", "v2"],
    ),
    "a release to come, twice": (["0.99", "v0.99"], "0.33.0", ["0.99"], {"0.99": "0.33.0"}, ["v2"]),
    "what is described": (["0.22.0", "0.23.0+cu129"], "0.33.0", ["0.22.0", "0.23.0"], {}, ["v1", "v2"]),
}  # fmt: skip


@pytest.mark.parametrize("case", ASSUMED)
def test_assumed_releases(case: str) -> None:
    releases, assume, shown, assumed, runners = ASSUMED[case]
    options = [word for release in releases for word in ("--release", release)]
    found = json.loads(runnerctl(*options, *LLAMA, "--assume", assume, "--format", "json").stdout)
    assert (found["releases"], found["assumed"]) == (shown, assumed)
    assert [cell["answers"] for cell in found["rows"][0]["cells"]] == [[runner] for runner in runners]


def test_an_assumed_release_is_said_in_every_form() -> None:
    words = ["-r", "0.99", "--assume", "0.33.0", *LLAMA]
    for format_ in ("text", "markdown", "html", "svg"):
        said = " ".join(runnerctl(*words, "--format", format_).stdout.split())
        assert "0.99 is decided as 0.33.0" in re.sub("<[^>]*> *<[^>]*>", " ", said), format_
    assert "--assume 0.33.0" in runnerctl(*words, "--format", "markdown").stdout


def test_rules_see_the_release_that_was_asked_for(tmp_path: Path) -> None:
    rule = {"id": "late", "match": {"vllm": ">=0.99"}, "runner": "v1", "enforce": "require", "reason": "x"}
    head = {"apiVersion": "runnerctl/v1", "kind": "RunnerPolicy", "metadata": {"name": "f"}}
    (tmp_path / "p.yaml").write_text(yaml.safe_dump({**head, "rules": [rule]}))
    words = ["-r", "0.33.0", "-r", "0.99", *LLAMA, "-p", str(tmp_path / "p.yaml"), "--assume", "0.33.0"]
    (row,) = json.loads(runnerctl(*words, "--format", "json").stdout)["rows"]
    assert [cell["answers"] for cell in row["cells"]] == [["v2"], ["v1"]]


def test_policy_rules_count(tmp_path: Path) -> None:
    rule = {
        "id": "back",
        "match": {"architectures": "Llama*", "vllm": ">=0.24"},
        "runner": "v1",
        "enforce": "require",
        "reason": "not yet",
    }
    policy = tmp_path / "fleet.yaml"
    document = {
        "apiVersion": "runnerctl/v1",
        "kind": "RunnerPolicy",
        "metadata": {"name": "f"},
        "rules": [rule],
    }
    policy.write_text(yaml.safe_dump(document))
    done = runnerctl("-r", ">=0.23,<0.25", "-a", "LlamaForCausalLM", "-p", str(policy), "--format", "json")
    (row,) = json.loads(done.stdout)["rows"]
    assert [cell["answers"] for cell in row["cells"]] == [["v2"], ["v1"]]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["-r", "0.99", "--assume", "0.33.0"],
        ["-a", "*Qwen3*"],
        ["-r", "0.28.0", "--platform", "rocm"],
        ["-p", "configs"],
    ],
)
def test_json_fits_its_schema(arguments: list[str]) -> None:
    schema = json.loads((ROOT / "schemas" / "matrix.schema.json").read_text("utf-8"))
    found = json.loads(runnerctl(*arguments, "--format", "json").stdout)
    jsonschema.Draft202012Validator(schema).validate(found)
    assert found["rows"]


def test_the_page_in_docs_is_what_its_own_command_gives() -> None:
    page = (ROOT / "docs" / "matrix.md").read_text("utf-8")
    command = next(line for line in page.splitlines() if line.startswith("runnerctl matrix"))
    assert runnerctl(*shlex.split(command)[2:], "--format", "markdown").stdout == page


def test_html_needs_nothing_else_and_is_well_formed() -> None:
    page = runnerctl("-r", "0.25.0", "-r", "0.24.0", "--set", "labels.x=<script>", "--format", "html").stdout
    stack: list[str] = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag not in ("script", "link", "img")
            assert not any(name in ("src", "onclick") for name, _ in attrs)
            if tag != "meta":
                stack.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert stack.pop() == tag

    Reader().feed(page)
    assert stack == []
    assert "prefers-color-scheme: dark" in page
    assert '<th scope="row">OPTForCausalLM</th><td class="v1">v1</td><td class="v2">v2</td>' in page
    assert '<td class="depends">v1/v2<sup><a href="#note-1">1</a></sup></td>' in page
    assert "&lt;script&gt;" in page


def test_svg_is_xml_with_title_axes_and_legend() -> None:
    picture = runnerctl("-a", "Llama*", "-a", "Qwen3*", "--platform", "rocm", "--format", "svg").stdout
    root = ET.fromstring(picture)  # noqa: S314  (what we have just written)
    texts = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"vLLM release", "architecture", "Model Runner V1", "Model Runner V2"} <= set(texts)
    assert "Model runner by architecture and vLLM release" in texts
    assert "platform=rocm" in picture


def test_output_replaces_the_file_at_once(tmp_path: Path) -> None:
    target = tmp_path / "matrix.md"
    target.write_text("old")
    done = runnerctl(*LLAMA, "--format", "markdown", "-o", str(target))
    assert (done.returncode, done.stdout) == (0, "")
    assert target.read_text().startswith("# Model runner by architecture")
    assert [path.name for path in tmp_path.iterdir()] == ["matrix.md"]


@pytest.mark.parametrize("format_", ["text", "markdown", "html", "svg", "json"])
def test_the_full_registry_takes_less_than_five_seconds(format_: str) -> None:
    before = time.process_time()
    done = runnerctl("--format", format_)
    assert time.process_time() - before < 5
    assert done.returncode == 0
    assert "LlamaForCausalLM" in done.stdout or format_ in ("text", "svg")
    assert Catalog().releases[-1] in done.stdout
