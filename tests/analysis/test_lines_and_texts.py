"""The axes of releases and of texts against `packaging` and against every short text."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version

from policy.analysis.texts import text_classes
from policy.analysis.unanalysable import Unanalysable
from policy.analysis.versions import VersionLine
from policy.rules.match import Glob, Release

BASES = ["0", "0.11", "0.12.0", "0.12.1", "1.0", "1!0.5"]
ENDINGS = [
    "",
    ".dev0",
    ".dev1",
    "a0",
    "rc1",
    "rc1.dev2",
    "rc1.post0",
    ".post0",
    ".post1",
    ".post1.dev0",
    "rc2",
]
LOCALS = ["", "+cu129", "+cu129.1", "+5", "+a"]
OPERATORS = [">=", "<=", "<", ">", "==", "!=", "~="]


@st.composite
def specifiers(draw: st.DrawFn) -> str:
    base = draw(st.sampled_from(BASES))
    operator = draw(st.sampled_from([*OPERATORS, "===", "==*", "!=*"]))
    if operator.endswith("*"):
        return f"{operator[:2]}{base}.*"
    if operator == "~=" and "." not in base:
        base = "0.11"
    ending = draw(st.sampled_from(ENDINGS))
    local = draw(st.sampled_from(LOCALS)) if operator in ("==", "!=", "===") else ""
    return f"{operator}{base}{ending}{local}"


@settings(deadline=None)
@given(st.lists(st.lists(specifiers(), min_size=1, max_size=2).map(",".join), min_size=1, max_size=4))
def test_every_version_is_in_a_piece_that_answers_like_it(texts: list[str]) -> None:
    line = VersionLine(texts)
    versions = [f"{b}{e}{x}" for b in [*BASES, "0.12", "0.11.5", "9"] for e in ENDINGS for x in LOCALS]
    for text in texts:
        mask = line.mask(text)
        for version in versions:
            assert bool(mask >> line.piece(Version(version)) & 1) is Release(text).holds(
                str(Version(version))
            )
        for piece, sample in enumerate(line.samples):
            assert bool(mask >> piece & 1) is Release(text).holds(sample), sample


@pytest.mark.parametrize("specifier", [">=" + ".".join("1" * 20), "==1+" + "a" * 80])
def test_versions_beyond_all_measure_are_refused(specifier: str) -> None:
    with pytest.raises(Unanalysable):
        VersionLine([specifier])


SHORT = ["".join(letters) for n in range(6) for letters in itertools.product("abx", repeat=n)]
PATTERNS = st.text("ab*?", min_size=1, max_size=5).filter(lambda text: "*" in text or "?" in text)


@settings(deadline=None)
@given(
    st.lists(st.text("ab", max_size=3), max_size=3),
    st.lists(PATTERNS, max_size=4),
    st.none() | st.text("abx", max_size=3),
)
def test_texts_are_one_for_each_kind(names: list[str], globs: list[str], prefer: str | None) -> None:
    def kind(text: str) -> tuple[str | None, tuple[bool, ...]]:
        return (text if text in names else None, tuple(Glob(glob).holds(text) for glob in globs))

    found = text_classes(names, globs, prefer)
    kinds = [kind(text) for text in found]
    assert len(set(kinds)) == len(kinds)
    assert {kind(text) for text in SHORT} <= set(kinds)
    if prefer is not None:
        assert prefer in found
