"""What of a variable may be shown. It needs no other module: a lint that is answered from its cache reads it, too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["shown", "shown_facts"]

# Whole words of a name: TOKEN is a secret, TOKENS (as in MAX_NUM_BATCHED_TOKENS) and TOKENIZER are not.
# Patterns are texts: compiling these takes longer than a start may, and few commands show a variable.
_HIDDEN = (
    r"(?i)(?:^|_)(?:TOKEN|SECRETS?|PASS|PASSWD|PASSWORD|PASSPHRASE|PGPASS|PWD|AUTH|AUTHORIZATION|CREDENTIALS?|COOKIE|DSN"
    r"|WEBHOOK|API_?KEYS?|(?:ACCESS|PRIVATE|ENCRYPTION|SIGNING)_?KEY|KEY$|DATABASE_URL)(?:_|$)"
)
_HARMLESS = ("PWD", "OLDPWD")
_CREDENTIALS_IN_URL = r"(?<=://)[^/@\s]+:[^/@\s]+(?=@)"


def shown(name: str, value: str) -> str:
    """The value as it may be shown: that of a variable that looks like a secret is hidden."""
    secret = re.search(_HIDDEN, name.replace("-", "_")) and name not in _HARMLESS
    return "****" if value and secret else re.sub(_CREDENTIALS_IN_URL, "****", value)


def shown_facts(document: Mapping[str, Any]) -> dict[str, Any]:
    """A facts document as it may be shown."""
    env = document.get("env")
    if not isinstance(env, Mapping):
        return dict(document)
    return {**document, "env": {name: shown(name, str(value)) for name, value in env.items()}}
