"""Two tests have the same facts and expectations.

The second one shows nothing new. It is often a copy whose facts were to be changed.

Fails:

```yaml
rules: []
tests:
  - given: {vllm: 0.23.0, architectures: [LlamaForCausalLM]}
    expect: {runner: v2, layer: engine}
  - given: {architectures: [LlamaForCausalLM], vllm: 0.23.0}
    expect: {runner: v2, layer: engine}
```

Passes:

```yaml
rules: []
tests:
  - given: {vllm: 0.23.0, architectures: [LlamaForCausalLM]}
    expect: {runner: v2, layer: engine}
  - given: {vllm: 0.22.0, architectures: [LlamaForCausalLM]}
    expect: {runner: v1, layer: engine}
```
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from policy.lint.finding import Finding, Related
from policy.lint.registry import Rule
from policy.lint.subject import Subject
from policy.lint.text import TestText

__all__ = ["RULE", "check"]

RULE = Rule("RH411", "duplicate-test", "warning", "two tests have the same facts and expectations")


def check(subject: Subject) -> Iterator[Finding]:
    alike: dict[object, list[TestText]] = {}
    for test in subject.tests:
        key = (test.file.name, test.expect.get("rule"), test.given.get("vllm"), len(test.given))
        alike.setdefault(key, []).append(test)
    for tests in alike.values():
        first: dict[str, TestText] = {}
        for test in tests if len(tests) > 1 else ():
            said = json.dumps([test.facts, {**test.entry, "name": None, "given": None}], sort_keys=True)
            other = first.setdefault(said, test)
            if other is not test:
                related = Related(other.span(), f"`{other.name}` is the same")
                yield RULE.finding(
                    test.span(), f"`{test.name}` tests what `{other.name}` does", related=[related]
                )
