"""What one source (command line, `config.json`, the machine) says of a deployment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Reading"]


@dataclass(frozen=True, slots=True)
class Reading:
    """Facts that one source gives, and the facts that it should have given but could not.

    `facts` is nested, in the shape of `schemas/facts.schema.json`. `unknown` maps the dotted path of each fact
    that could not be read to the reason, in words that end a sentence "`path` is not known: ...".
    """

    facts: dict[str, Any] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
