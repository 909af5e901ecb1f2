"""Changes of a PEP 440 specifier: operators and range ends, and only those that contain other releases."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from policy.input_error import InputError

__all__ = ["changed_specifiers"]

_OPERATOR = re.compile(r"~=|===|==|!=|<=|>=|<|>")
# Each operator with those that it is most easily mistaken for: the end in or out, and the other side.
_OPERATORS = {
    ">=": (">", "<"),
    ">": (">=", "<="),
    "<=": ("<", ">"),
    "<": ("<=", ">="),
    "==": ("!=", ">=", "<="),
    "!=": ("==",),
    "~=": (">=", "=="),
    "===": ("!=",),
}


def changed_specifiers(text: str) -> Iterator[str]:
    """Specifiers that differ from `text` in one operator, one end or one clause, and contain other releases."""
    seen = {_releases(text)}
    for changed in _changed(text):
        try:
            releases = _releases(changed)
        except InvalidSpecifier:
            continue
        if releases not in seen:
            seen.add(releases)
            yield changed


def _changed(text: str) -> Iterator[str]:
    clauses = text.split(",")
    for i, clause in enumerate(clauses):
        operator, version = _parts(clause)
        for other in _OPERATORS[operator]:
            yield _joined(clauses, i, other + version)
        for other in _near(version):
            yield _joined(clauses, i, operator + other)
        if len(clauses) > 1:
            yield ",".join(clauses[:i] + clauses[i + 1 :])


def _parts(clause: str) -> tuple[str, str]:
    """Operator and version; a bare version is an equal one."""
    found = _OPERATOR.match(clause.strip())
    operator = found[0] if found else ""
    return operator or "==", clause.strip().removeprefix(operator).strip()


def _joined(clauses: list[str], i: int, clause: str) -> str:
    return ",".join([*clauses[:i], clause, *clauses[i + 1 :]])


def _near(text: str) -> Iterator[str]:
    """The versions around one: the next and the last in its last place, and with pre-releases where it was without."""
    bare = text.removesuffix(".*")
    star = text[len(bare) :]
    try:
        version = Version(bare)
    except InvalidVersion:
        return
    release = list(version.release)
    suffix = bare[len(version.base_version) :] if bare.startswith(version.base_version) else ""
    for step in (-1, 1):
        if release[-1] + step >= 0:
            yield ".".join(map(str, [*release[:-1], release[-1] + step])) + suffix + star
    if suffix:
        yield version.base_version
    elif not star:
        yield f"{bare}.dev0"


@functools.lru_cache(maxsize=4096)
def _releases(text: str) -> object:
    """What stands for the set of versions that a specifier contains; equal where they are."""
    candidate = text if text.strip()[:1] in "<>=!~" else f"=={text.strip()}"
    specifiers = SpecifierSet(candidate, prereleases=True)
    if not hasattr(specifiers, "to_range"):
        raise InputError("mutation tests need packaging 26.3 or newer: older ones cannot compare specifiers")
    return (specifiers.to_range() & _everything()).complement().complement()  # of equal sets, one form


@functools.cache
def _everything() -> object:
    return SpecifierSet(">=0.dev0", prereleases=True).to_range()
