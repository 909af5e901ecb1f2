"""What one source (command line, `config.json`, the machine) says of a deployment."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

__all__ = ["Reading"]


class Reading(NamedTuple):
    """Facts that one source gives, and the facts that it should have given but could not.

    `facts` is nested, in the shape of `schemas/facts.schema.json`. `unknown` maps the dotted path of each fact
    that could not be read to the reason, in words that end a sentence "`path` is not known: ...".
    """

    facts: Mapping[str, Any] = MappingProxyType({})
    unknown: Mapping[str, str] = MappingProxyType({})
