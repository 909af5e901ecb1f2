"""A rule never decides, whatever the deployment.

Either its match never holds, or wherever it holds rules that outrank it decide: one of them, or several together. The
answer is exact, over every deployment that the rules can tell apart; nothing is sampled. A rule that still sets variables
for decisions of another one is a warning only.

Where a rule always meets one of its own weight that disagrees, the decision is an error, and it decides nothing either.
That is said of the one whose id comes later; RM212 names both.

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

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from policy.facts.fields import SWITCH
from policy.lint.finding import Finding, Related
from policy.lint.registry import Rule
from policy.lint.subject import Subject

if TYPE_CHECKING:  # both are loaded by whoever made the subject
    from policy.analysis.findings import NeverDecides
    from policy.rules import policy_set

__all__ = ["RULE", "check"]

RULE = Rule("RM211", "never-decides", "error", "a rule never decides, whatever the deployment")


def check(subject: Subject) -> Iterator[Finding]:
    for idle in subject.analysis.never_decides:
        rule = subject.by_id[idle.rule.id]
        disagreeing = [other for other in idle.by if _disagree(idle.rule, other)]
        if idle.adds_env:
            variables = ", ".join(f"`{name}`" for name in idle.adds_env)
            help_ = f"it only sets {variables} for decisions of others"
        elif disagreeing:
            priority = "" if idle.rule.enforce == "require" else "give one of them a priority, or "
            help_ = f"{priority}narrow one of them"
        else:
            help_ = "take it out, or narrow what outranks it" if idle.by else "take it out"
        yield RULE.finding(
            rule.span(),
            f"rule `{rule.id}` never decides: {_why(idle, disagreeing)}",
            help_,
            related=[Related(subject.by_id[other.id].span(), f"rule `{other.id}`") for other in idle.by],
            severity="warning" if idle.adds_env else "error",
        )


def _why(idle: NeverDecides, disagreeing: Sequence[policy_set.Rule]) -> str:
    deciding = [f"`{other.id}`" for other in idle.by if other not in disagreeing]
    deciding += [f"an operator's {SWITCH}"] if idle.switch else []
    conflict = f"it conflicts with {' and '.join(f'`{other.id}`' for other in disagreeing)}"
    if idle.why == "unsatisfiable":
        return "its match never holds"
    if not deciding and not disagreeing:
        return f"it only matches where {SWITCH} is set, which wins over a `prefer`"
    if not deciding:
        return f"wherever it matches {conflict}"
    several = len(deciding) > 1
    together = " together" if several and not disagreeing else ""
    decided = f"{' and '.join(deciding)} decide{'' if several else 's'}{together}"
    return f"wherever it matches, {decided}{f', or {conflict}' if disagreeing else ''}"


def _disagree(one: policy_set.Rule, other: policy_set.Rule) -> bool:
    """Whether two rules of equal weight cannot both have their way, so that their decision is an error."""
    if one.enforce != other.enforce or (one.enforce == "prefer" and one.priority != other.priority):
        return False
    return one.runner != other.runner or any(
        other.env.get(name, value) != value for name, value in one.env.items()
    )
