"""Every way in which a file cannot be read: one message, with the place."""

from __future__ import annotations

import re
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import yaml

from policy.document import DocumentError, Source, parse, read_source
from policy.document.files import decode

# name: (bytes of the file, code, line, column, a part of the message)
REFUSED: dict[str, tuple[bytes, str, int, int, str]] = {
    "duplicate key": (b"a: 1\nb: 2\na: 3\n", "duplicate-key", 3, 1, "`a` stands twice"),
    "duplicate key in a flow mapping": (b"x: {k: 1, k: 1}\n", "duplicate-key", 1, 11, "`k` stands twice"),
    "duplicate key, one quoted": (b'a: 1\n"a": 2\n', "duplicate-key", 2, 1, "`a` stands twice"),
    "tab as indentation": (b"a:\n\tb: 1\n", "yaml-tab", 2, 1, "a tab cannot indent"),
    "tab after spaces": (b"a:\n  b: 1\n \tc: 1\n", "yaml-tab", 3, 2, "a tab cannot indent"),
    "no YAML": (b"a: [1, 2\nb: 3\n", "yaml-syntax", 2, 2, "not valid YAML"),
    "unclosed quote": (b'a: "x\n', "yaml-syntax", 2, 1, "not valid YAML"),
    "bad indentation": (b"a: 1\n  b: 2\n", "yaml-syntax", 2, 4, "not valid YAML"),
    "empty": (b"", "empty-file", 1, 1, "the file is empty"),
    "only comments": (b"# nothing\n\n", "empty-file", 1, 1, "the file is empty"),
    "only a BOM": (b"\xef\xbb\xbf", "empty-file", 1, 1, "the file is empty"),
    "not UTF-8": (b"a: 1\nb: caf\xe9\n", "not-utf-8", 2, 7, "byte 0xe9"),
    "not UTF-8 after a BOM": (b"\xef\xbb\xbfa: \xff", "not-utf-8", 1, 4, "byte 0xff"),
    "not UTF-8 right after a BOM": (b"\xef\xbb\xbfa\xff\n", "not-utf-8", 1, 2, "byte 0xff"),
    "not UTF-8 after every line end": (
        "a\rb\r\nc\u2028d\x85é: ".encode() + b"\xff",
        "not-utf-8",
        5,
        4,
        "byte 0xff",
    ),
    "NUL": (b"a: 1\nb: x\x00y\n", "yaml-syntax", 2, 5, "U+0000"),
    "escape character": (b"a: \x1b[31m\n", "yaml-syntax", 1, 4, "U+001B"),
    "a control character after a wide letter": ("a: ü\nb: ü\x0b".encode(), "yaml-syntax", 2, 5, "U+000B"),
    "a control character after many": (
        f"a: {'ü' * 30}\nb: x\x0b\n".encode(),
        "yaml-syntax",
        2,
        5,
        "U+000B",
    ),
    "a control character after a BOM": (b"\xef\xbb\xbfa: \x0b", "yaml-syntax", 1, 4, "U+000B"),
    "two documents": (b"a: 1\n---\nb: 2\n", "several-documents", 2, 1, "more than one"),
    "merge key": (b"x: &x {a: 1}\ny:\n  <<: *x\n", "merge-key", 3, 3, "merge keys"),
    "tag": (b"a: !!python/object:os.system x\n", "yaml-tag", 1, 4, "tags"),
    "tag on a mapping": (b"a: !custom {b: 1}\n", "yaml-tag", 1, 4, "!custom"),
    "tag on a quoted text": (b'a: !!str "1"\n', "yaml-tag", 1, 4, "tags"),
    "list as a key": (b"? [a, b]\n: 1\n", "key-not-scalar", 1, 3, "a key must be a plain word"),
    "mapping as a key": (b"{a: 1}: 2\n", "key-not-scalar", 1, 1, "a key must be a plain word"),
    "alias as a key": (b"x: &x a\n*x : 2\n", "key-not-scalar", 2, 1, "a key must be a plain word"),
    "unknown alias": (b"a: *nothing\n", "unknown-alias", 1, 4, "nothing"),
    "alias of itself": (b"a: &a [*a]\n", "unknown-alias", 1, 8, "`*a`"),
    "deep": (b"[" * 100 + b"]" * 100, "too-deep", 1, 65, "deeper than 64"),
    "very deep": (b"[" * 100_000, "too-deep", 1, 1001, "deeper than 64"),
    "deep blocks": (
        b"".join(b" " * i + b"a:\n" for i in range(100)),
        "too-deep",
        65,
        65,
        "deeper than 64",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_one_message_and_its_place(tmp_path: Path, case: str) -> None:
    raw, code, line, column, part = REFUSED[case]
    file = tmp_path / "fleet.yaml"
    file.write_bytes(raw)
    with pytest.raises(DocumentError) as caught:
        parse(read_source(file))
    (found,) = caught.value.diagnostics
    assert (found.code, found.location.line, found.location.column) == (code, line, column)
    assert found.location.path == str(file)
    assert part in found.message
    assert not found.message.endswith(".")
    assert str(caught.value).startswith(f"{file}:{line}:{column}: ")


@pytest.mark.parametrize("case", [case for case in REFUSED if "character" in case])
def test_a_character_is_placed_alike_without_libyaml(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    """Libyaml counts bytes, Python's own reader characters."""
    monkeypatch.setattr("policy.document.source._LOADER", yaml.SafeLoader)
    raw, _, line, column, part = REFUSED[case]
    with pytest.raises(DocumentError, match=re.escape(part)) as caught:
        parse(decode("p.yaml", raw))
    assert caught.value.diagnostics[0].location == ("p.yaml", line, column)


def test_half_a_character_of_a_command_line_is_refused() -> None:
    """What an argument that is not UTF-8 becomes."""
    with pytest.raises(DocumentError, match=r"^--set:2:4: the character U\+DCFF is not allowed"):
        parse(Source("--set", "[\na: \udcff]"))


def test_all_duplicate_keys_are_reported_in_order() -> None:
    with pytest.raises(DocumentError) as caught:
        parse(Source("p.yaml", "a: 1\nc: {x: 1, x: 2}\na: 2\na: 3\n"))
    assert [(d.location.line, d.location.column) for d in caught.value.diagnostics] == [
        (2, 11),
        (3, 1),
        (4, 1),
    ]


def test_utf_16_is_refused_with_a_place(tmp_path: Path) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_bytes("a: 1\n".encode("utf-16"))
    with pytest.raises(DocumentError) as caught:
        read_source(file)
    assert str(caught.value).startswith(f"{file}:1:1: ")


def test_column_of_a_bad_byte_counts_characters(tmp_path: Path) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_bytes("a: éé".encode() + b"\xff\n")
    with pytest.raises(DocumentError) as caught:
        read_source(file)
    assert caught.value.diagnostics[0].location.column == 6


UNREADABLE = {"missing": "no such file", "folder": "is a directory", "10 MB": "limit is 8 MiB"}


@pytest.mark.parametrize("case", UNREADABLE)
def test_file_that_cannot_be_used_as_a_whole(tmp_path: Path, case: str) -> None:
    path = tmp_path / "fleet.yaml"
    if case == "folder":
        path.mkdir()
    if case == "10 MB":
        path.write_bytes(b"a: b\n" * 2_000_000)
    with pytest.raises(DocumentError, match=UNREADABLE[case]) as caught:
        read_source(path)
    assert len(caught.value.diagnostics) == 1
    assert str(path) in str(caught.value)


def laugh(levels: int, width: int, leaf: str) -> str:
    """A list whose size grows by `width` a line."""
    lines = [f"a0: &a0 {leaf}\n"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]\n" for i in range(1, levels + 1)]
    return "".join(lines)


BOMBS = {
    "billion laughs": laugh(9, 10, "lol"),
    "as mappings": "a0: &a0 {x: lol}\n"
    + "".join(f"a{i}: &a{i} {{{', '.join(f'k{j}: *a{i - 1}' for j in range(10))}}}\n" for i in range(1, 12)),
    "fifty levels": laugh(50, 10, "lol"),
    "quadratic": "x: &x [" + "a, " * 20_000 + "]\ny: [" + "*x, " * 20_000 + "]\n",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_anchors_that_explode_are_refused_at_once(bomb: str) -> None:
    tracemalloc.start()
    start = time.perf_counter()
    with pytest.raises(DocumentError, match="once its aliases are expanded") as caught:
        parse(Source("bomb.yaml", BOMBS[bomb]))
    seconds, (_, peak) = time.perf_counter() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(caught.value.diagnostics) == 1
    assert seconds < 5
    assert peak < 64 * 1024 * 1024


def test_aliases_are_shared_not_copied() -> None:
    data = parse(Source("p.yaml", "x: &x {a: [1, 2]}\ny: *x\nz: [*x, *x]\n")).data
    assert data == {"x": {"a": [1, 2]}, "y": {"a": [1, 2]}, "z": [{"a": [1, 2]}, {"a": [1, 2]}]}
    assert data["x"] is data["y"]


# What a plain scalar means: YAML 1.2's core schema. The words of YAML 1.1 are texts.
SCALARS: dict[str, Any] = {
    "yes": "yes",
    "no": "no",
    "on": "on",
    "off": "off",
    "NO": "NO",
    "y": "y",
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "tRUE": "tRUE",
    "null": None,
    "~": None,
    "": None,
    "Null": None,
    "none": "none",
    "12": 12,
    "-3": -3,
    "+3": 3,
    "012": 12,
    "0o14": 12,
    "0xfF": 255,
    "0b11": "0b11",
    "1_000": "1_000",
    "12:30:45": "12:30:45",
    "0.10": 0.1,
    "1.": 1.0,
    ".5": 0.5,
    "1e3": 1000.0,
    "1.5e-3": 0.0015,
    ".": ".",
    "0.23.0": "0.23.0",
    "2027-03-31": "2027-03-31",
    "-x": "-x",
    "'12'": "12",
    '"true"': "true",
    "! 12": 12,
    "|\n  12": "12\n",
}


@pytest.mark.parametrize("text", SCALARS)
def test_scalars(text: str) -> None:
    value = parse(Source("p.yaml", f"k: {text}\n")).data["k"]
    assert value == SCALARS[text]
    assert type(value) is type(SCALARS[text])


def test_long_digits_do_not_stop_python() -> None:
    digits = "9" * 5000
    assert parse(Source("p.yaml", f"k: {digits}\n")).data["k"] == digits


def test_keys_are_texts() -> None:
    assert parse(Source("p.yaml", "1: a\ntrue: b\n~: c\n0.10: d\n")).data == {
        "1": "a",
        "true": "b",
        "~": "c",
        "0.10": "d",
    }


@pytest.mark.parametrize(
    "raw",
    [b"\xef\xbb\xbfa: {b: [1]}\n", b"a: {b: [1]}\r\n", b'{"a": {"b": [1]}}', b"---\na: {b: [1]}"],
    ids=["BOM", "CRLF", "JSON", "start marker"],
)
def test_accepted_forms(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "p.yaml"
    file.write_bytes(raw)
    source = read_source(file)
    assert parse(source).data == {"a": {"b": [1]}}
    assert source.written.encode() == raw


LOCATIONS: dict[str, tuple[list[str | int], bool, tuple[int, int]]] = {
    "root": ([], False, (2, 1)),
    "value": (["rules", 0, "id"], False, (3, 7)),
    "key": (["rules", 0, "id"], True, (3, 3)),
    "second item": (["rules", 1], False, (4, 3)),
    "absent gives the parent": (["rules", 1, "nothing", 3], False, (4, 3)),
    "after wide characters": (["rules", 1, "b"], True, (4, 11)),
}


@pytest.mark.parametrize("case", LOCATIONS)
def test_locate(case: str) -> None:
    path, key, expected = LOCATIONS[case]
    document = parse(Source("p.yaml", "# comment\nrules:\n- id: x\n- {a: éé, b: 1}\n"))
    place = document.locate(path, key=key)
    assert (place.line, place.column) == expected
