"""What of a variable may be shown. It needs no other module: a lint that is answered from its cache reads it, too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["is_secret", "may_hold_secrets", "shown", "shown_facts", "shown_text"]

# Whole words of a name: TOKEN is a secret, TOKENS (as in MAX_NUM_BATCHED_TOKENS) and TOKENIZER are not.
# Patterns are texts: compiling these takes longer than a start may, and few commands show a variable.
_WORDS = (
    r"TOKEN|SECRETS?|PASS|PASSWD|PASSWORD|PASSPHRASE|PGPASS|PWD|AUTH|AUTHORIZATION|CREDENTIALS?|COOKIE|DSN"
    r"|WEBHOOK|API_?KEYS?|(?:ACCESS|PRIVATE|ENCRYPTION|SIGNING)_?KEY"
)
_HIDDEN = rf"(?i)(?:^|_)(?:{_WORDS}|KEY$|DATABASE_URL)(?:_|$)"
_HARMLESS = ("PWD", "OLDPWD")
_ASSIGNED = r"((?P<name>[A-Za-z_][\w-]*)(?:=|:\s+))(?P<value>[^\s,}\]`]+)"
_CREDENTIALS_IN_URL = r"(?<=://)[^/@\s]+:[^/@\s]+(?=@)"


# Whatever could be such a name in a text, and what could spell one out.
_MAYBE = rf"(?i)(?<![a-z0-9])(?:{_WORDS}|KEY|DATABASE_URL)(?![a-z0-9])|\\[xu]"


def is_secret(name: str) -> bool:
    """Whether a variable of this name looks like a secret."""
    return bool(re.search(_HIDDEN, name.replace("-", "_"))) and name not in _HARMLESS


def may_hold_secrets(text: str) -> bool:
    """Whether a text may hold the value of a secret: false where that is sure, and quickly told."""
    return ("://" in text and "@" in text) or re.search(_MAYBE, text.replace("-", "_")) is not None


def shown(name: str, value: str) -> str:
    """The value as it may be shown: that of a variable that looks like a secret is hidden."""
    return "****" if value and is_secret(name) else re.sub(_CREDENTIALS_IN_URL, "****", value)


def shown_text(text: str) -> str:
    """A text as it may be shown: `NAME=value` of a variable that looks like a secret, and credentials, are hidden."""
    hidden = re.sub(_CREDENTIALS_IN_URL, "****", text)
    return re.sub(_ASSIGNED, lambda found: found[1] + shown(found["name"], found["value"]), hidden)


def shown_facts(document: Mapping[str, Any]) -> dict[str, Any]:
    """A facts document as it may be shown."""
    env = document.get("env")
    if not isinstance(env, Mapping):
        return dict(document)
    return {**document, "env": {name: shown(name, str(value)) for name, value in env.items()}}
