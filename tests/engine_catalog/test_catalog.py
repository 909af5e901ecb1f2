"""The catalog: which release answers for a version, and release files put together from patches."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest
from packaging.version import Version

from policy.document import DocumentError
from policy.engine import Catalog, EngineRelease, UnknownRelease
from policy.engine.catalog import merge_patch
from policy.input_error import InputError

# version -> the release that answers
FOUND = {
    "0.23.0": "0.23.0",
    "0.23.0+cu129": "0.23.0",
    "0.23.0.post1": "0.23.0",
    "0.23.0.post1+cpu": "0.23.0",
    "0.23.0rc2": "0.23.0",
    "0.11.0": "0.11.0",
    "0.33.0": "0.33.0",
    "v0.23.0": "0.23.0",
}
# version -> (part of the reason, the release that is near)
NOT_FOUND = {
    "0.23.1": ("does not describe", "0.23.0"),
    "0.23.0.dev12+gabc": ("development version", "0.22.1"),
    "0.23.1.dev0": ("development version", "0.23.0"),
    "0.10.2": ("begins with 0.11.0", "0.11.0"),
    "0.99.0": ("newer than the catalog", "0.33.0"),
    "1.0": ("newer than the catalog", "0.33.0"),
    "0.1.dev0": ("development version", None),
}


@pytest.mark.parametrize("version", FOUND)
def test_found(catalog: Catalog, version: str) -> None:
    found = catalog.find(version)
    assert isinstance(found, EngineRelease)
    assert found.release == FOUND[version]


@pytest.mark.parametrize("version", NOT_FOUND)
def test_not_found(catalog: Catalog, version: str) -> None:
    part, near = NOT_FOUND[version]
    found = catalog.find(version)
    assert isinstance(found, UnknownRelease)
    assert part in found.reason
    assert found.nearest == near


@pytest.mark.parametrize("version", ["0.23", "0.23.0.0"])
def test_equal_versions_are_one_release(catalog: Catalog, version: str) -> None:
    found = catalog.find(version)
    assert isinstance(found, EngineRelease)


@pytest.mark.parametrize("version", ["", "latest", "0.23.x", "main", "0.23.0 beta"])
def test_no_version(catalog: Catalog, version: str) -> None:
    with pytest.raises(InputError, match="PEP 440"):
        catalog.find(version)


def test_assume(catalog: Catalog) -> None:
    found = catalog.find("0.99.0", "0.28.0")
    assert isinstance(found, EngineRelease)
    assert found.release == "0.28.0"
    known = catalog.find("0.23.0", "0.28.0")
    assert isinstance(known, EngineRelease)
    assert known.release == "0.23.0"
    with pytest.raises(InputError, match=r"--assume 0\.98"):
        catalog.find("0.99.0", "0.98")


def test_releases_are_in_order_and_all_build(catalog: Catalog) -> None:
    assert list(catalog.releases) == sorted(catalog.releases, key=Version)
    for release in catalog.releases:
        built = catalog.load(release)
        assert built.release == release
        assert built.choice, "there is always a default"
        assert [c.priority for c in built.choice] == sorted((c.priority for c in built.choice), reverse=True)
        assert catalog.load(release) is built


@pytest.mark.parametrize(
    ("release", "switch", "has_set"),
    [
        ("0.11.0", "none", False),
        ("0.21.0", "off-by-default", False),
        ("0.22.0", "three-state", True),
        ("0.28.0", "three-state", True),
        ("0.29.0", "three-state", False),
        ("0.33.0", "three-state", False),
    ],
)
def test_switch_and_set(catalog: Catalog, release: str, switch: str, has_set: bool) -> None:
    built = catalog.load(release)
    assert built.switch == switch
    assert (built.default_v2_architectures is not None) is has_set


def test_the_sets_names_are_registered(catalog: Catalog) -> None:
    for release in catalog.releases:
        names = catalog.architecture_names(release)
        assert set(catalog.load(release).default_v2_architectures or ()) <= set(names)
        assert list(names) == sorted(set(names))


# RFC 7386, appendix A
PATCHES = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("target", "patch", "result"), PATCHES)
def test_merge_patch(target: object, patch: object, result: object) -> None:
    assert merge_patch(target, patch) == result


BROKEN = {
    "circle": ('release: "9.0.0"\nbase: "9.0.0"\n', "form a circle"),
    "unknown fact": (
        'release: "9.0.0"\nbase: "0.33.0"\noverrides:\n  x: {match: {model_config.is_moo: true}, runner: v2, reason: r}\n',
        "unknown fact `model_config.is_moo`",
    ),
    "unknown field": (
        'release: "9.0.0"\nbase: "0.33.0"\nchoices: {}\n',
        "9.0.0.yaml:5:1: unknown field `choices`",
    ),
    "number": ("release: 9.0\n", "`release` is `9.0`, not a string"),
    "missing base": ('release: "9.0.0"\nbase: "8.0.0"\n', "8.0.0.yaml: cannot be read"),
    "no YAML": ("release: [\n", "9.0.0.yaml:4"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_release_file(catalog: Catalog, tmp_path: Path, case: str) -> None:
    text, part = BROKEN[case]
    shutil.copytree(catalog.folder / "releases", tmp_path / "releases")
    (tmp_path / "releases" / "9.0.0.yaml").write_text(
        f"apiVersion: runnerctl/v1\nkind: EngineRelease\n{text}"
    )
    with pytest.raises(DocumentError) as caught:
        Catalog(tmp_path).load("9.0.0")
    assert part in str(caught.value)


def test_stray_file_in_an_operators_catalog(catalog: Catalog, tmp_path: Path) -> None:
    shutil.copytree(catalog.folder / "releases", tmp_path / "releases")
    (tmp_path / "releases" / "notes.yaml").write_text("x: 1\n")
    with contextlib.suppress(InputError):
        assert isinstance(Catalog(tmp_path).find("0.23.0"), EngineRelease)


def test_release_without_base_says_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "releases").mkdir()
    (tmp_path / "releases" / "9.0.0.yaml").write_text(
        'apiVersion: runnerctl/v1\nkind: EngineRelease\nrelease: "9.0.0"\n'
    )
    with pytest.raises(DocumentError):
        Catalog(tmp_path).load("9.0.0")
