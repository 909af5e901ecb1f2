"""Reading a source by `ast`: wheels and folders, the code that decides, its digests, and the executable oracle."""

from __future__ import annotations

import ast
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from policy.engine import Catalog
from policy.engine.source import (
    Oracle,
    SourceError,
    digests,
    environment_variables,
    known_digests,
    names_text,
    open_tree,
    read_deciding_code,
    registered_classes,
)
from policy.engine.source.digest import normal_form
from policy.engine.source.oracle import INVALID_SWITCH
from policy.facts.facts import Facts

CONFIG = "vllm/config/vllm.py"


def config_of(wheel: Path) -> str:
    return zipfile.ZipFile(wheel).read(CONFIG).decode()


def test_a_wheel_and_its_unpacked_folder_are_the_same(
    make_wheel: Callable[..., Path], tmp_path: Path
) -> None:
    wheel = make_wheel()
    unpacked = tmp_path / "unpacked"
    zipfile.ZipFile(wheel).extractall(unpacked)
    (unpacked / "vllm-90.1.0.dist-info" / "RECORD").write_text("vllm/envs.py,sha256=x,1\n")
    one, other, package = open_tree(wheel), open_tree(unpacked), open_tree(unpacked / "vllm")
    assert one.version == other.version == package.version == "90.1.0"
    assert one.distribution == other.distribution == "vllm"
    assert digests(read_deciding_code(one)) == digests(read_deciding_code(other))
    assert names_text("90.1.0", one) == names_text("90.1.0", package)


def test_a_folder_without_metadata_says_its_version_in_a_module(
    tmp_path: Path, make_wheel: Callable[..., Path]
) -> None:
    zipfile.ZipFile(make_wheel()).extractall(tmp_path / "c")
    for file in (tmp_path / "c" / "vllm-90.1.0.dist-info").iterdir():
        file.unlink()
    assert open_tree(tmp_path / "c").version is None
    (tmp_path / "c" / "vllm" / "_version.py").write_text("__version__ = version = '90.3.0'\n")
    assert open_tree(tmp_path / "c").version == "90.3.0"


def test_reading_imports_nothing(make_wheel: Callable[..., Path]) -> None:
    wheel = make_wheel({"vllm/__init__.py": "raise SystemExit('imported')"})
    Oracle(read_deciding_code(open_tree(wheel))).ask(Facts({}))
    assert "vllm" not in sys.modules


def test_the_deciding_code_is_followed_from_both_ends(make_wheel: Callable[..., Path]) -> None:
    code = read_deciding_code(open_tree(make_wheel()))
    assert list(code.parts()) == [
        "PREFERRED",
        "VllmConfig.__post_init__",
        "Worker.__init__",
        "_lacking",
        "_validate_v2_model_runner",
        "envs.VLLM_USE_V2_MODEL_RUNNER",
        "envs.to_switch",
        "use_v2_model_runner",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Words that do not count."""', '"""Other words."""'),
        ("return 42", "return 43"),
        ("        lacking = []\n", "        # a comment\n        lacking: list[str] = []\n"),
        ("self.unrelated = 1", "self.unrelated = 2"),
        (
            "        lacking = self._lacking()\n",
            "        logger.info('x')\n        lacking = self._lacking()\n",
        ),
    ],
)
def test_what_decides_nothing_does_not_change_a_digest(
    make_wheel: Callable[..., Path], old: str, new: str
) -> None:
    wheel = make_wheel()
    before, text = digests(read_deciding_code(open_tree(wheel))), config_of(wheel)
    assert old in text
    changed = digests(read_deciding_code(open_tree(make_wheel({CONFIG: text.replace(old, new)}))))
    different = {name for name in before if before[name] != changed[name]}
    assert (
        not different or ": list" in new
    )  # an annotated assignment is another statement, and decides the same


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ('"PearForCausalLM"', '"FigForCausalLM"', "PREFERRED"),
        ("not HAS_TRITON", "HAS_TRITON", "use_v2_model_runner"),
        ('"adapters"', '"LoRA"', "_lacking"),
        ("if self.use_v2_model_runner:", "if not self.use_v2_model_runner:", "VllmConfig.__post_init__"),
    ],
)
def test_what_decides_changes_its_own_digest_only(
    make_wheel: Callable[..., Path], old: str, new: str, part: str
) -> None:
    wheel = make_wheel()
    before, text = digests(read_deciding_code(open_tree(wheel))), config_of(wheel)
    after = digests(read_deciding_code(open_tree(make_wheel({CONFIG: text.replace(old, new)}))))
    assert {name for name in before if before[name] != after[name]} == {part}


def test_the_normal_form_tells_none_from_nothing() -> None:
    assert normal_form(ast.parse("return_ = None")) != normal_form(ast.parse("return_ = 0"))
    assert normal_form(ast.parse("f(None)")) != normal_form(ast.parse("f()"))
    assert normal_form(ast.parse("x  =  f'{a}'  # c")) == normal_form(ast.parse('x = f"{a}"'))


def test_the_names_of_a_source(make_wheel: Callable[..., Path]) -> None:
    tree = open_tree(make_wheel())
    assert registered_classes(tree) == {
        "FigForCausalLM": "pear:Fig",
        "PearForCausalLM": "pear:PearForCausalLM",
    }
    assert environment_variables(tree) == {"VLLM_COLOUR": "str|null", "VLLM_USE_V2_MODEL_RUNNER": None}


@pytest.mark.parametrize(
    ("facts", "runner", "features"),
    [
        ({}, "v1", ()),
        ({"model_config": {"architectures": ["PearForCausalLM"]}}, "v2", ()),
        ({"model_config": {"architectures": ["PearForCausalLM"]}, "has_triton": False}, "v1", ()),
        ({"model_config": {"architectures": ["PearForCausalLM"]}, "lora_config": {}}, "v1", ()),
        ({"model_config": None}, "v1", ()),
        ({"env": {"VLLM_USE_V2_MODEL_RUNNER": " 2 "}}, "v2", ()),
        ({"env": {"VLLM_USE_V2_MODEL_RUNNER": "1"}, "lora_config": {}}, None, ("adapters",)),
    ],
)
def test_the_oracle_runs_the_functions_themselves(
    make_wheel: Callable[..., Path], facts: dict[str, object], runner: str | None, features: tuple[str, ...]
) -> None:
    answer = Oracle(read_deciding_code(open_tree(make_wheel()))).ask(Facts(facts))
    assert (answer.runner, answer.features) == (runner, features)


@pytest.mark.parametrize("value", ["", "true", "1.0"])
def test_the_oracle_reads_the_switch_as_the_source_does(make_wheel: Callable[..., Path], value: str) -> None:
    answer = Oracle(read_deciding_code(open_tree(make_wheel()))).ask(
        Facts({"env": {"VLLM_USE_V2_MODEL_RUNNER": value}})
    )
    assert answer.runner is None
    assert answer.message == INVALID_SWITCH


def test_the_oracle_says_what_it_cannot_stand_in_for(make_wheel: Callable[..., Path]) -> None:
    text = config_of(make_wheel()).replace("not HAS_TRITON", "not the_moon_is_full()")
    with pytest.raises(SourceError, match="`the_moon_is_full`"):
        Oracle(read_deciding_code(open_tree(make_wheel({CONFIG: text}))))


def test_the_oracle_does_not_guess_a_field_that_facts_lack(make_wheel: Callable[..., Path]) -> None:
    text = config_of(make_wheel()).replace("self.lora_config", "self.parallel_config.moon_phase")
    oracle = Oracle(read_deciding_code(open_tree(make_wheel({CONFIG: text}))))
    with pytest.raises(SourceError, match=r"parallel_config\.moon_phase"):
        oracle.ask(Facts({"env": {"VLLM_USE_V2_MODEL_RUNNER": "1"}}))
    assert oracle.unknown_fields == {"parallel_config.moon_phase"}


def test_the_oracle_opens_no_file(make_wheel: Callable[..., Path]) -> None:
    text = config_of(make_wheel()).replace("lacking = []", "import os.path; lacking = []")
    oracle = Oracle(read_deciding_code(open_tree(make_wheel({CONFIG: text}))))
    with pytest.raises(SourceError, match=r"imports `os\.path`"):
        oracle.ask(Facts({"env": {"VLLM_USE_V2_MODEL_RUNNER": "1"}}))


def test_what_a_config_is_set_to_stays_set(make_wheel: Callable[..., Path]) -> None:
    text = (
        config_of(make_wheel())
        .replace(
            "            self._validate",
            "            self.cache_config.block_size = 0\n            self._validate",
        )
        .replace("if self.lora_config is not None", "if self.cache_config.block_size == 0")
    )
    oracle = Oracle(read_deciding_code(open_tree(make_wheel({CONFIG: text}))))
    assert oracle.ask(Facts({"env": {"VLLM_USE_V2_MODEL_RUNNER": "1"}})).features == ("adapters",)


def test_every_release_has_names_and_digests(catalog: Catalog) -> None:
    known = known_digests(catalog.folder)
    for release in catalog.releases:
        assert catalog.names(release), release
        assert release in known, release
        assert bool(known[release]) == (catalog.load(release).switch != "none"), release
