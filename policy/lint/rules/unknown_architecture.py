"""No release registers an architecture of this name.

A mistyped architecture matches nothing, and the rule silently never decides. The name is looked up in what the releases
of the rule's range register, and the help names the nearest ones there. A pattern must match one of them. By `ne` it is
the other way round: that holds for every model that has an architecture.

An architecture that a plugin registers is not known here: say so with a comment,
`# runnerctl: ignore[RE301] our plugin registers it`.

Fails:

```yaml
rules:
  - id: llama
    match: {architectures: [LLamaForCausalLM, "Lama*"]}
    runner: v2
  - id: all-but-llama
    match: {architectures: {ne: LamaForCausalLM}}
    runner: v1
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

from collections.abc import Iterator, Sequence

from policy.document.diagnostic import nearest
from policy.lint.finding import Finding
from policy.lint.registry import Rule
from policy.lint.subject import Subject
from policy.lint.text import RuleText, Step

__all__ = ["RULE", "check"]

RULE = Rule("RE301", "unknown-architecture", "warning", "no release registers an architecture of this name")


def check(subject: Subject) -> Iterator[Finding]:
    if not subject.knowledge.listed:
        return
    for rule in subject.rules:
        for word, at in rule.architectures:
            yield from _unknown(subject, rule, word, at)
        for word, at in rule.differing():
            yield from _unknown(
                subject, rule, word, at, ", so `ne` holds for every model that has an architecture"
            )


def _unknown(
    subject: Subject, rule: RuleText, word: str, at: Sequence[Step], outcome: str = ""
) -> Iterator[Finding]:
    """A finding, if no release registers an architecture of this name; `outcome` is what comes of that."""
    known = subject.knowledge
    if known.registering(word):
        return
    reached = subject.reach(rule) or known.every
    names = [name for name, releases in known.architectures.items() if releases & reached]
    what = "no registered architecture matches" if known.is_pattern(word) else "no release registers"
    help_ = nearest(word.strip("*?"), names) or "names are those of `config.json`, such as `LlamaForCausalLM`"
    yield RULE.finding(rule.file.span(*at), f"{what} `{word}`{outcome}", help_)
