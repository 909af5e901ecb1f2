"""Objects that answer vLLM's deciding code from a facts document: configs, platform, enums, environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from policy.engine.source.tree import SourceError
from policy.facts.facts import ABSENT, UNKNOWN, Facts
from policy.facts.fields import field

__all__ = ["EnumNames", "Platform", "Reader", "SilentLogger", "StandIn"]


KNOWN_PLATFORMS = ("cuda", "rocm", "tpu", "xpu", "cpu", "unspecified")


class Reader:
    """Reads facts for the stand-ins of one question, and keeps which paths were asked for.

    `unknown_fields` are paths that the facts schema does not have: code that reads one asks something that no
    facts document can say.
    """

    def __init__(
        self, facts: Facts, methods: frozenset[str], asked: set[str], unknown_fields: set[str]
    ) -> None:
        self.facts = facts
        self.methods = methods
        self.asked = asked
        self.unknown_fields = unknown_fields

    def read(self, path: str) -> Any:
        """The value as vLLM would hold it. Raises `AttributeError` for an unknown path, `SourceError` for an open fact."""
        if field(path) is None:
            self.unknown_fields.add(path)
            raise AttributeError(path)
        self.asked.add(path)
        value = self.facts.value(path)
        if value is UNKNOWN:
            raise SourceError(f"the facts do not say `{path}`, and vLLM's code asks for it")
        if value is ABSENT:
            return None
        if isinstance(value, Mapping):
            return StandIn(self, path)
        return Named(value) if isinstance(value, str) else value


class StandIn:
    """A config object. Subclassed by the `VllmConfig` that holds vLLM's own methods."""

    def __init__(self, reader: Reader, path: str = "") -> None:
        self._reader = reader
        self._path = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_reader", "_path"):
            raise AttributeError(name)
        own = getattr(type(self), name, None)
        if isinstance(own, property) and own.fget is not None:
            # Python comes here when a property of vLLM's fails to find something: say what, not that it is missing.
            try:
                return own.fget(self)
            except AttributeError as error:
                raise SourceError(
                    f"vLLM's `{name}` asks for `{error}`, which the facts cannot say"
                ) from error
        value = self._reader.read(f"{self._path}.{name}" if self._path else name)
        if name in self._reader.methods and (value is None or isinstance(value, (bool, int, str))):
            value = _constant(value)
        setattr(self, name, value)  # what the code sets on a config must still be there when it looks again
        return value


class Named(str):
    """Text that also answers as a member of an enum, which facts hold by its name."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return str(self)

    @property
    def value(self) -> str:
        return str(self)


class EnumNames:
    """An enum whose members are their names, as facts hold them."""

    def __getattr__(self, name: str) -> Named:
        return Named(name)


class Platform:
    """`current_platform`: `is_rocm()` and the like, each true for its own platform."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Callable[[], bool]:
        if not name.startswith("is_"):
            raise AttributeError(name)
        if name == "is_cuda_alike":
            return _constant(self._name in ("cuda", "rocm"))
        if name == "is_out_of_tree":
            return _constant(self._name not in KNOWN_PLATFORMS)
        return _constant(self._name == name.removeprefix("is_"))


class SilentLogger:
    """`logger`, whatever is said to it."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        del name
        return lambda *_args, **_kwargs: None


def _constant(value: Any) -> Callable[..., Any]:
    return lambda *_args, **_kwargs: value
