"""No release registers an architecture of this name.

A mistyped architecture matches nothing, and the rule silently never decides. The name is looked up in what the releases
of the rule's range register, and the help names the nearest ones there. A pattern must match one of them.

An architecture that a plugin registers is not known here: say so with a comment,
`# runnerctl: ignore[RE301] our plugin registers it`.

Fails:

```yaml
rules:
  - id: llama
    match: {architectures: [LLamaForCausalLM, "Lama*"]}
    runner: v2
```

Passes:

```yaml
rules:
  - id: llama
    match:
      architectures:
        - LlamaForCausalLM
        - OurLlamaForCausalLM  # runnerctl: ignore[RE301] our plugin registers it
    runner: v2
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.document.diagnostic import nearest
from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject

__all__ = ["RULE", "check"]

RULE = Rule("RE301", "unknown-architecture", "warning", "no release registers an architecture of this name")


def check(subject: Subject) -> Iterator[Finding]:
    known = subject.knowledge
    for rule in subject.rules:
        for word, at in rule.architectures:
            if known.listed and not known.registering(word):
                reached = subject.reach(rule) or known.every
                names = [name for name, releases in known.architectures.items() if releases & reached]
                what = (
                    "no registered architecture matches" if known.is_pattern(word) else "no release registers"
                )
                help_ = (
                    nearest(word.strip("*?"), names)
                    or "names are those of `config.json`, such as `LlamaForCausalLM`"
                )
                yield RULE.finding(rule.file.span(*at), f"{what} `{word}`", help_)
