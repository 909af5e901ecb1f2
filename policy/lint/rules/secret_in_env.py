"""A value in an `env:` block looks like a secret.

Policies are checked in and shown to many, and so are compiled policies. A secret belongs into the process environment or
an `--env-file`, which lie over the policy's variables.

A secret is what belongs to a name such as `HF_TOKEN`, `DB_PASSWORD` or `API_KEY`, and what tells by itself: a token of a
known shape (`hf_…`, `ghp_…`, `AKIA…`, `sk-…`, `xoxb-…`, `glpat-…`, a JWT), a private key, and the password, or the token,
before the host of an address (without a password it is a token from 20 letters and digits on, and a user's name below).
`VLLM_MAX_TOKENS` and `HF_TOKEN_PATH` are none.

Fails:

```yaml
rules: []
env: {HF_TOKEN: hf_example}
```

Passes:

```yaml
rules: []
env: {HF_HUB_OFFLINE: "1"}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject
from policy.lint.variables import variables
from policy.secret import shown

__all__ = ["RULE", "check"]

RULE = Rule("RE315", "secret-in-env", "error", "a value in an `env:` block looks like a secret")


def check(subject: Subject) -> Iterator[Finding]:
    for variable in variables(subject):
        if variable.value and not variable.matched and shown(variable.name, variable.value) != variable.value:
            message = f"the value of `{variable.name}` looks like a secret"
            yield RULE.finding(
                variable.span, message, "give it with `launch --env-file`, or in the process environment"
            )
