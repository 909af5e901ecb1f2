"""A rule never decides, whatever the deployment.

Either its match never holds, or wherever it holds rules that outrank it decide: one of them, or several together. The
answer is exact, over every deployment that the rules can tell apart; nothing is sampled. A rule that still sets variables
for decisions of another one is a warning only.

Fails:

```yaml
rules:
  - id: llama-on-old
    match: {architectures: LlamaForCausalLM, vllm: "<0.25.dev0"}
    runner: v1
    enforce: require
  - id: llama-on-new
    match: {architectures: LlamaForCausalLM, vllm: ">=0.25.dev0"}
    runner: v1
    enforce: require
  - id: llama-on-rocm
    match: {architectures: LlamaForCausalLM, platform: rocm}
    runner: v2
```

Passes:

```yaml
rules:
  - id: llama-on-old
    match: {architectures: LlamaForCausalLM, vllm: "<0.25.dev0"}
    runner: v1
    enforce: require
  - id: llama-on-rocm
    match: {architectures: LlamaForCausalLM, platform: rocm}
    runner: v2
```
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.facts.fields import SWITCH
from policy.lint.finding import Finding, Related
from policy.lint.registry import Rule
from policy.lint.subject import Subject

__all__ = ["RULE", "check"]

RULE = Rule("RM211", "never-decides", "error", "a rule never decides, whatever the deployment")


def check(subject: Subject) -> Iterator[Finding]:
    for idle in subject.analysis.never_decides:
        rule = subject.by_id[idle.rule.id]
        named = [f"`{other.id}`" for other in idle.by] + ([f"an operator's {SWITCH}"] if idle.switch else [])
        if idle.why == "unsatisfiable":
            why = "its match never holds"
        elif not named:
            why = f"it only matches where {SWITCH} is set, which wins over a `prefer`"
        else:
            together = " together" if len(named) > 1 else ""
            why = (
                f"wherever it matches, {' and '.join(named)} decide{'' if len(named) > 1 else 's'}{together}"
            )
        help_ = "take it out, or narrow what outranks it"
        if idle.adds_env:
            help_ = (
                "it only sets "
                + ", ".join(f"`{name}`" for name in idle.adds_env)
                + " for decisions of others"
            )
        elif idle.clashes:
            help_ = "and it conflicts with another rule"
        yield RULE.finding(
            rule.span(),
            f"rule `{rule.id}` never decides: {why}",
            help_,
            related=[Related(subject.by_id[other.id].span(), f"rule `{other.id}`") for other in idle.by],
            severity="warning" if idle.adds_env else "error",
        )
