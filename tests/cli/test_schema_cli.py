"""`runnerctl schema`: lists every schema that is shipped, and prints each as it is."""

from __future__ import annotations

from typing import Any

import pytest

from policy.document.schema import SCHEMAS, schema_folder

FILES = sorted(path.name.removesuffix(".schema.json") for path in schema_folder().glob("*.json"))


def test_all_are_listed(cli: Any) -> None:
    assert sorted(cli("schema").out.split()) == FILES


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_is_printed(cli: Any, name: str) -> None:
    answer = cli("schema", name)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == (schema_folder() / f"{name}.schema.json").read_text("utf-8")


def test_the_nearest_name_is_offered(cli: Any) -> None:
    answer = cli("schema", "polcy")
    assert (answer.code, answer.out) == (2, "")
    assert "no schema `polcy`; did you mean `policy`" in answer.err
