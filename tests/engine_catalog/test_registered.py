"""The table of all names holds what the files of the releases hold."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from policy.engine import Catalog
from policy.engine.registered import registered_names, table
from tools.index_names import text


def test_the_shipped_table_is_made_from_the_names_of_today() -> None:
    path = Catalog().folder / "registered.json"
    assert path.read_text("utf-8") == text(), "run python tools/index_names.py"


def test_a_name_is_in_the_releases_that_list_it(catalog: Catalog) -> None:
    found = registered_names(catalog)
    for i, release in enumerate(catalog.releases):
        names = catalog.names(release)
        assert names is not None
        assert {n for n, held in found.architectures.items() if held >> i & 1} == names[
            "architectures"
        ].keys()
        kinds = {n: k for n, held in found.variables.items() for k, which in held.items() if which >> i & 1}
        assert kinds == {n: k or "" for n, k in names["environment_variables"].items()}


def test_a_catalog_of_other_releases_is_read_itself(tmp_path: Path, catalog: Catalog) -> None:
    """A table that lies beside other releases than it was made from says nothing of them."""
    (tmp_path / "releases").mkdir()
    (tmp_path / "names").mkdir()
    shutil.copy(catalog.folder / "releases" / "0.11.0.yaml", tmp_path / "releases")
    shutil.copy(catalog.folder / "registered.json", tmp_path)
    names = {"release": "0.11.0", "architectures": {"Ours": {}}, "environment_variables": {"VLLM_X": "int"}}
    (tmp_path / "names" / "0.11.0.json").write_text(json.dumps(names))
    theirs = Catalog(tmp_path)
    found = registered_names(theirs)
    assert (found.listed, found.architectures, found.variables) == (1, {"Ours": 1}, {"VLLM_X": {"int": 1}})
    assert table(theirs)["releases"] == ["0.11.0"]
