"""What of a variable may be shown. It needs no other module: a lint that is answered from its cache reads it, too."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = [
    "HIDDEN",
    "apart",
    "is_secret",
    "may_hold_secrets",
    "secret_shapes",
    "shown",
    "shown_entry",
    "shown_facts",
    "shown_text",
]

HIDDEN = "****"

# Patterns are texts: compiling these takes longer than a start may, and few commands show a variable.
# What a word of a secret's name ends with, as in HFTOKEN1. TOKENS alone are what a model reads, as in MAX_TOKENS.
_ENDINGS = (
    r"TOKEN|(?:ACCESS|API|AUTH|BEARER|BOT|GITHUB|GITLAB|HF|REFRESH|SECRET|SESSION)_?TOKENS|SECRETS?"
    r"|PASSWORDS?|PASSWDS?|PASSPHRASES?|CREDENTIALS?|API_?KEYS?"
    r"|(?:ACCESS|ENCRYPTION|MASTER|PRIVATE|SECRET|SIGNING|SSH)_?KEYS?"
)
# What is a word of its own, because other words end with it.
_WORDS = r"PGPASS|PWD|AUTH|AUTHORIZATION|CREDS?|COOKIES?|DSN|WEBHOOKS?|DATABASE_URL"
_NAME = (
    rf"(?ai)(?:{_ENDINGS}|(?:^|_)(?:{_WORDS}))\d*(?:_|$)"
    r"|(?:^|(?<!PUBLIC)(?<!CACHE)(?<!SORT)(?<!PARTITION)_)(?:KEY|PASS)\d*(?:_\d+)?$"
)
# What has such a word in its name and is none: switches, measures, places of secrets, and tokens of a model.
_ABOUT = (
    r"(?ai)(?:^|_)(?:SKIP|ENABLE|DISABLE|ALLOW|REQUIRE|VALIDATE)_"
    r"|_(?:THRESHOLD|LIMIT|COUNT|SIZE|LEN|LENGTH|BUDGET|TTL|TIMEOUT|EXPIRY|LIFETIME|FILE|PATH|DIR|SOCK|NAME|TYPE|MODE"
    r"|METHOD|ENABLED|DISABLED|REQUIRED)$"
    r"|(?:^|_)(?:BOS|EOS|PAD|UNK|MASK|SEP|CLS|STOP|IMAGE|AUDIO|VIDEO|SPECIAL|PER|MAX|MIN|NUM)_TOKEN(?:_IDS?)?$"
    r"|TOKEN_(?:BUDGETS?|COUNT|IDS|LEN|LIMIT|NUM|PROB|SIZE|THRESHOLD|TREE)(?:_|$)"
    r"|^(?:OLD)?PWD$"
)
# Values that tell by themselves. Each begins where no other could: a long text is gone through once.
_SHAPES = (
    r"(?<![\w-])(?:hf_[A-Za-z0-9]{20,}|gh[a-z]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])|sk-(?=[\w-]*\d)[\w-]{20,}|xox[a-z]-[\w-]{10,}|glpat-[\w-]{16,}"
    r"|eyJ[\w-]{10,}\.[\w.-]+)"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)"
)
_URL_USER = r"(?<=://)[^/\s]+(?=@)"
_RANDOM = r"(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{20,}"
# Whatever could be a secret's name in a text of small letters, and what could spell one, or an address, out; and what
# one of these is found with: most texts hold none, which is told ten times as quickly.
_MAYBE = rf"(?:{_ENDINGS}|{_WORDS}|KEY|PASS)".lower() + r"\d*(?![a-z0-9])|\\[xu/\r\n]"
_ROOTS = (
    "token",
    "key",
    "secret",
    "pass",
    "pwd",
    "auth",
    "cred",
    "cookie",
    "dsn",
    "webhook",
    "database_url",
    "\\",
)
_ASSIGNED = r"""(?<![\w.-])(?P<name>[\w.-]+)(?:["']\s*:\s*|=|:\s+)"""
_VALUE = r""""[^"]*"?|'[^']*'?|[^\s,}\]`]+"""
_ENTRY = r"""\s*["']?(?P<name>[\w.-]+)["']?\s*[=:\s]\s*(?=\S)"""


@functools.lru_cache(maxsize=1024)
def is_secret(name: str) -> bool:
    """Whether a variable of this name looks like a secret."""
    plain = name.replace("-", "_").replace(".", "_")
    return re.search(_NAME, plain) is not None and re.search(_ABOUT, plain) is None


def may_hold_secrets(text: str) -> bool:
    """Whether a text may hold a secret: false where that is sure, and quickly told."""
    if "://" in text and "@" in text:
        return True
    small = text.lower()
    if any(root in small for root in _ROOTS) and re.search(_MAYBE, small.replace("-", "_")):
        return True
    return re.search(_SHAPES, text) is not None


def secret_shapes(text: str) -> Iterator[tuple[int, int]]:
    """Where values begin and end that are secrets whatever they belong to: tokens, keys, and credentials of addresses."""
    for found in re.finditer(_SHAPES, text):
        yield found.span()
    for found in re.finditer(_URL_USER, text):
        user, colon, password = found[0].partition(":")
        if (colon and password) or re.fullmatch(_RANDOM, user):
            yield found.span()


def shown(name: str, value: str) -> str:
    """The value as it may be shown: that of a variable that looks like a secret is hidden."""
    return HIDDEN if value and is_secret(name) else _without_shapes(value)


def shown_text(text: str) -> str:
    """A text as it may be shown: `NAME=value` of a variable that looks like a secret, and what tells by itself, are hidden."""
    text = _without_shapes(text)
    name, value = re.compile(_ASSIGNED), re.compile(_VALUE)
    parts, kept, at = [], 0, 0
    while found := name.search(text, at):
        at = found.end()
        held = value.match(text, at) if is_secret(found["name"]) else None
        if held is not None:
            parts += [text[kept:at], HIDDEN]
            at = kept = held.end()
    return "".join([*parts, text[kept:]])


def shown_entry(text: str) -> str:
    """A text that stands where a variable's name was to stand, or several variables: it may be `NAME value`, too."""
    found = re.match(_ENTRY, text)
    if found is not None and is_secret(found["name"]):
        return text[: found.end()] + HIDDEN
    return shown_text(text)


def shown_facts(document: Mapping[str, Any]) -> dict[str, Any]:
    """A facts document as it may be shown."""
    env = document.get("env")
    if not isinstance(env, Mapping):
        return dict(document)
    return {**document, "env": {shown_entry(name): shown(name, str(value)) for name, value in env.items()}}


def apart(parts: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Parts of a text from the first to the last, those that overlap or touch made one."""
    first, last = -1, -1
    for start, end in sorted(parts):
        if start > last:
            if first < last:
                yield first, last
            first = start
        last = max(last, end)
    if first < last:
        yield first, last


def _without_shapes(text: str) -> str:
    parts, at = [], 0
    for first, last in apart(secret_shapes(text)):
        parts += [text[at:first], HIDDEN]
        at = last
    return "".join([*parts, text[at:]])
