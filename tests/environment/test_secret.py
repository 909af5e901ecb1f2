"""What counts as a secret: names of variables, values that tell by themselves, and how long it takes to say so."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from policy.document.hidden import hidden_in_lines
from policy.engine import Catalog
from policy.engine.registered import registered_names
from policy.facts.fields import field_paths
from policy.secret import is_secret, may_hold_secrets, shown, shown_entry, shown_facts, shown_text
from runnerctl.reporters.masked import without_secrets

SECRETS = """
HF_TOKEN HF_TOKEN1 HF_TOKEN_2 HFTOKEN hfToken hf-token env.HF_TOKEN HF_TOKENS TOKEN HF_TOKEN_STAGING HUGGING_FACE_HUB_TOKEN
PASSWORDS DB_PASSWORD DBPASSWORD PGPASSWORD MYSQL_PWD SMTP_PASS SMTP_PASS_1 SSH_PASSPHRASE DB_PASSWD
API_KEY APIKEY API_KEYS apiKey OPENAI_KEY OPENAI_KEY1 KEY SSH_PRIVATE_KEY AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID
CLIENT_SECRET CLIENTSECRET SECRETS CREDENTIALS DOCKER_AUTH_CONFIG SLACK_WEBHOOK_URL SENTRY_DSN DATABASE_URL COOKIE
"""
HARMLESS = """
VLLM_MAX_TOKENS MAX_NUM_BATCHED_TOKENS MAX_TOKENS TOKENS TOKENIZERS_PARALLELISM TOKENIZER_MODE TOKENIZER EOS_TOKEN
PAD_TOKEN_ID MAX_TOKEN_COUNT PREFILL_TOKEN_BUDGET VLLM_STREAM_TOKEN_THRESHOLD VLLM_SKIP_API_KEY_CHECK
HF_HUB_DISABLE_IMPLICIT_TOKEN ENABLE_TOKEN_LOG HF_TOKEN_PATH POSTGRES_PASSWORD_FILE SSH_AUTH_SOCK AUTH_MODE SECRET_NAME
PUBLIC_KEY CACHE_KEY KEYS MONKEY KEYBOARD PWD OLDPWD AUTHOR SECRETARY BYPASS COMPASS PASS_CONFIG FASTOKENS DESCRIPTION
"""


@pytest.mark.parametrize("name", SECRETS.split())
def test_it_looks_like_a_secret(name: str) -> None:
    assert is_secret(name)
    assert may_hold_secrets(f"a: b\n{name}: c")


@pytest.mark.parametrize("name", HARMLESS.split())
def test_it_looks_like_none(name: str) -> None:
    assert not is_secret(name)


def test_which_variables_of_vllm_count(catalog: Catalog) -> None:
    """All others are switches, numbers, paths and names: what is said of them helps."""
    secret = [name for name in registered_names(catalog).variables if is_secret(name)]
    assert sorted(secret) == ["S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY", "VLLM_API_KEY"]


def test_which_facts_count() -> None:
    assert [path for path in field_paths() if is_secret(path)] == [
        "model_config.hf_token",
        "speculative_config.draft_model_config.hf_token",
        "watermark_config.key",
    ]


LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
KEY = f"-----BEGIN RSA PRIVATE KEY-----\n{LETTERS}\n-----END RSA PRIVATE KEY-----"
# A value of a variable with a harmless name, and how it is shown.
VALUES = {
    f"hf_{LETTERS}": "****",
    f"ghp_{LETTERS}": "****",
    f"gho_{LETTERS}": "****",
    f"ghs_{LETTERS}": "****",
    f"github_pat_11AB_{LETTERS}": "****",
    "AKIAIOSFODNN7EXAMPLE": "****",
    "ASIAIOSFODNN7EXAMPLE": "****",
    f"sk-{LETTERS}": "****",
    f"sk-proj-{LETTERS}": "****",
    "xoxb-1234567890-abc": "****",
    f"glpat-{LETTERS}": "****",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl": "****",
    KEY: "****",
    f"one\n{KEY}\ntwo": "one\n****\ntwo",
    KEY[:50]: "****",
    f"-----BEGIN PRIVATE KEY-----{LETTERS}": "****",
    f"Bearer hf_{LETTERS}, and more": "Bearer ****, and more",
    "https://me:pw@host/": "https://****@host/",
    "https://:pw@host/": "https://****@host/",
    "https://me:p@w@host/": "https://****@host/",
    f"https://ghp_{LETTERS}@host/": "https://****@host/",
    f"https://{LETTERS}@host/": "https://****@host/",
    "a https://me:pw@host, redis://:pw@host": "a https://****@host, redis://****@host",
    # What only looks like one.
    "": "",
    "hf_transfer": "hf_transfer",
    "hf_example": "hf_example",
    "task-sk-something-long-without-end1": "task-sk-something-long-without-end1",
    "sk-learn": "sk-learn",
    "AKIAIOSFODNN7EXAMPLES": "AKIAIOSFODNN7EXAMPLES",
    "-----BEGIN PUBLIC KEY-----": "-----BEGIN PUBLIC KEY-----",
    "https://me@host/": "https://me@host/",
    "https://me:@host/": "https://me:@host/",
    "https://host:8000/@me": "https://host:8000/@me",
    "git@github.com:a/b": "git@github.com:a/b",
    "meta-llama/Llama-3.1-405B-Instruct-FP8": "meta-llama/Llama-3.1-405B-Instruct-FP8",
    "0.23.0+cu128.gabcdef0123456789": "0.23.0+cu128.gabcdef0123456789",
}


@pytest.mark.parametrize("value", VALUES)
def test_a_value_tells_by_itself(value: str) -> None:
    assert shown("PROXY", value) == VALUES[value]
    assert may_hold_secrets(value) or VALUES[value] == value


TEXTS = {
    "HF_TOKEN=a": "HF_TOKEN=****",
    "set HF_TOKEN=a, and A=b": "set HF_TOKEN=****, and A=b",
    "`env` is: HF_TOKEN=a": "`env` is: HF_TOKEN=****",
    "A=HF_TOKEN=a": "A=HF_TOKEN=****",
    "HF_TOKEN: 'a b' c": "HF_TOKEN: **** c",
    '{"HF_TOKEN":"a b"}': '{"HF_TOKEN":****}',
    "env.HF_TOKEN: a": "env.HF_TOKEN: ****",
    "1HF_TOKEN=a": "1HF_TOKEN=****",
    "HF_TOKEN is needed": "HF_TOKEN is needed",
    "HF_TOKEN=": "HF_TOKEN=",
    "A=b": "A=b",
}
ENTRIES = {
    "HF_TOKEN": "HF_TOKEN",
    "HF_TOKEN a b": "HF_TOKEN ****",
    "HF_TOKEN=a b": "HF_TOKEN=****",
    '"HF_TOKEN": a b': '"HF_TOKEN": ****',
    "A=b HF_TOKEN=a": "A=b HF_TOKEN=****",
    "MAX_TOKENS 3": "MAX_TOKENS 3",
}
SAYING: list[tuple[Callable[[str], str], dict[str, str]]] = [(shown_text, TEXTS), (shown_entry, ENTRIES)]


@pytest.mark.parametrize(
    ("say", "text", "said"), [(say, text, said) for say, table in SAYING for text, said in table.items()]
)
def test_a_text_is_said_without_secrets(say: Callable[[str], str], text: str, said: str) -> None:
    assert say(text) == said


def test_facts_are_shown_without_secrets() -> None:
    given = {"vllm": "0.23.0", "env": {"HF_TOKEN": "a", "A": "redis://:pw@h", "HF_TOKEN=a": "b"}}
    env = {"HF_TOKEN": "****", "A": "redis://****@h", "HF_TOKEN=****": "b"}
    assert shown_facts(given) == {"vllm": "0.23.0", "env": env}


# Lines that a search which begins anew at each letter takes hours for.
LENGTH = 1_000_000
LONG = [
    "reason: a", "a: ", "a.", "a ", "HF_TOKEN=a ", "HF_TOKEN: ", 'HF_TOKEN: "', "HF_TOKEN: # ", "{HF_TOKEN: a, ",
    "[", "-", '"', '"a', ":", "://", "://:", "http://u:p@h ", "sk-", "eyJaaaaaaaaaa.", "-----BEGIN ", "TOKEN", "\t",
]  # fmt: skip


@pytest.mark.parametrize("part", LONG)
def test_a_long_line_is_gone_through_once(part: str) -> None:
    line = "x: " + part * (LENGTH // len(part))
    start = time.process_time()
    without_secrets(line)
    shown_text(line)
    hidden_in_lines(["HF_TOKEN: x", line])
    hidden_in_lines(["]: x", "HF_TOKEN: x", line])
    assert time.process_time() - start < 10  # about one second


def test_a_long_word_is_gone_through_once() -> None:
    start = time.process_time()
    assert without_secrets("reason: " + "a" * LENGTH).endswith("a")
    assert is_secret("A" * LENGTH + "_TOKEN")
    assert time.process_time() - start < 10


def test_many_aliases_of_much_are_looked_at_once() -> None:
    lines = ["a: &a [" + "b, " * 10_000 + "]", "m:", *(["- HF_TOKEN: *a"] * 10_000)]
    start = time.process_time()
    assert len(hidden_in_lines(lines)[1]) == 10_000
    assert time.process_time() - start < 10
