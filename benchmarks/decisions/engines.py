"""The engines: each translates the workload's rules and deployments into its own form ahead of time, loads, and answers.

`answer` gives the number of the first rule that matches, or -1. Where an engine has no first match (Cedar: any
`forbid` wins), it gives whether V2 is allowed, and the reference is computed the same way.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from benchmarks.decisions.workload import FLAGS, BenchRule

if TYPE_CHECKING:
    from policy.engine import Catalog

# The eight booleans as facts of vLLM's own.
FACTS = (
    "model_config.enforce_eager",
    "model_config.is_encoder_decoder",
    "model_config.is_hybrid",
    "model_config.is_multimodal_model",
    "model_config.has_inner_state",
    "model_config.is_moe",
    "model_config.is_quantized",
    "model_config.use_mla",
)


class Engine:
    """One engine with one policy."""

    first_match: ClassVar[bool] = True

    def write(self, rules: list[BenchRule]) -> Any:
        """The rules in the engine's form (not timed)."""
        raise NotImplementedError

    def load(self, policy: Any) -> None:
        """Take the policy in (timed)."""
        raise NotImplementedError

    def question(self, context: dict[str, Any]) -> Any:
        """A deployment in the engine's form (not timed): a Python mapping."""
        return context

    def answer(self, question: Any) -> Any:
        raise NotImplementedError


class Floor(Engine):
    """No engine: a Python dict by architecture and platform, then a loop. What a program written for this alone costs."""

    def write(self, rules: list[BenchRule]) -> Any:
        return rules

    def load(self, policy: Any) -> None:
        self.rules = policy
        self.known: dict[tuple[str, str], tuple[Any, ...]] = {}

    def _find(self, key: tuple[str, str]) -> tuple[Any, ...]:
        name, platform = key
        self.known[key] = tuple(
            (r.low, r.high, r.flags[0][0], r.flags[0][1], r.flags[1][0], r.flags[1][1], r.number)
            for r in self.rules
            if r.platform == platform
            and (name == r.begins if r.exact else name.startswith(r.begins) and name.endswith(r.ends))
        )
        return self.known[key]

    def answer(self, question: Any) -> Any:
        key = (question["architecture"], question["platform"])
        rules = self.known.get(key)
        release, flags = question["release"], question["flags"]
        for low, high, flag, value, other, other_value, number in self._find(key) if rules is None else rules:
            if low <= release < high and flags[flag] is value and flags[other] is other_value:
                return number
        return -1


def versions_of(catalog: Catalog) -> list[str]:
    """At least 120 versions in order, four for each release."""
    return [f"{r}{post}" for r in catalog.releases for post in ("", ".post1", ".post2", ".post3")]


def as_policy(rules: list[BenchRule], versions: list[str]) -> list[dict[str, Any]]:
    """The rules of the workload as rules of a policy: the first has the highest priority."""
    names = dict(zip(FLAGS, FACTS, strict=True))
    return [
        {
            "id": str(rule.number),
            "match": {
                "architectures": rule.glob,
                "vllm": f">={versions[rule.low]},<{versions[rule.high]}",
                "platform": rule.platform,
                **{names[flag]: value for flag, value in rule.flags},
            },
            "runner": rule.runner,
            "priority": len(rules) - rule.number,
        }
        for rule in rules
    ]


class Ours(Engine):
    """Which rules match, by the selection that `resolve` uses. Loading is what is done once per policy set."""

    def __init__(self) -> None:
        from policy.engine import Catalog  # noqa: PLC0415

        self.catalog = Catalog()
        self.versions = versions_of(self.catalog)

    def write(self, rules: list[BenchRule]) -> Any:
        from policy.document.source import Document  # noqa: PLC0415
        from policy.rules.policy_set import PolicySet, rule_from_data  # noqa: PLC0415
        from policy.rules.read_match import MatchReader  # noqa: PLC0415

        reader = MatchReader(Document.unmarked("bench", {}))
        found = [
            rule_from_data(data, reader.read(data["match"], ()), "bench", "bench.yaml:1:1")
            for data in as_policy(rules, self.versions)
        ]
        return PolicySet(rules=tuple(sorted(found, key=lambda rule: rule.rank)))

    def load(self, policy: Any) -> None:
        self.policies = policy
        policy.selection.matching({"vllm": "0.23.0"})
        self.matching = policy.selection.matching

    def question(self, context: dict[str, Any]) -> Any:
        flags = {
            fact.partition(".")[2]: context["flags"][flag] for flag, fact in zip(FLAGS, FACTS, strict=True)
        }
        return {
            "vllm": self.versions[context["release"]],
            "platform": context["platform"],
            "model_config": {
                "architectures": [context["architecture"]],
                "dtype": context["dtype"],
                "max_model_len": context["max_len"],
                **flags,
            },
            "parallel_config": {"tensor_parallel_size": context["tp"]},
            "labels": context["labels"],
        }

    def answer(self, question: Any) -> Any:
        found = self.matching(question)
        return int(found[0].id) if found else -1


class OursWhole(Ours):
    """The whole decision: the rule, whether the release can serve it, what is set, warnings and features."""

    def load(self, policy: Any) -> None:
        super().load(policy)
        from policy.decision.resolver import Resolver  # noqa: PLC0415

        self.decide = Resolver(policy, self.catalog).decide

    def answer(self, question: Any) -> Any:
        by = self.decide(question).decided_by
        return int(by.rule) if by is not None and by.layer == "policy" and by.rule else -1


class Zen(Engine):
    """zen-engine: a decision table with the hit policy `first`."""

    def write(self, rules: list[BenchRule]) -> Any:
        columns = [
            ("a", "architecture"),
            ("v", "release"),
            ("p", "platform"),
            *((f, f"flags.{f}") for f in FLAGS),
        ]
        rows = []
        for rule in rules:
            name = f'"{rule.begins}"' if rule.exact else f'startsWith($, "{rule.begins}")'
            if rule.ends:
                name += f' and endsWith($, "{rule.ends}")'
            row = {"_id": str(rule.number), **dict.fromkeys(FLAGS, ""), "o": str(rule.number)}
            row |= {"a": name, "v": f"[{rule.low}..{rule.high})", "p": f'"{rule.platform}"'}
            row |= {flag: str(value).lower() for flag, value in rule.flags}
            rows.append(row)
        rows.append({"_id": "none", **{column: "" for column, _ in columns}, "o": "-1"})
        table = {
            "hitPolicy": "first",
            "inputs": [{"id": column, "name": column, "field": source} for column, source in columns],
            "outputs": [{"id": "o", "name": "o", "field": "rule"}],
            "rules": rows,
        }
        place = {"position": {"x": 0, "y": 0}}
        nodes = [
            {"id": "in", "type": "inputNode", "name": "in", **place},
            {"id": "table", "type": "decisionTableNode", "name": "table", "content": table, **place},
            {"id": "out", "type": "outputNode", "name": "out", **place},
        ]
        edges = [
            {"id": "1", "sourceId": "in", "targetId": "table", "type": "edge"},
            {"id": "2", "sourceId": "table", "targetId": "out", "type": "edge"},
        ]
        return json.dumps({"nodes": nodes, "edges": edges})

    def load(self, policy: Any) -> None:
        import zen  # noqa: PLC0415

        self.decision = zen.ZenEngine().create_decision(zen.ZenDecisionContent(policy))
        self.decision.evaluate(
            {"architecture": "", "release": 0, "platform": "", "flags": dict.fromkeys(FLAGS, True)}
        )

    def answer(self, question: Any) -> Any:
        return self.decision.evaluate(question)["result"]["rule"]


class Cedar(Engine):
    """cedarpy, the policy set parsed once: `permit` for V2, `forbid` for V1, any `forbid` wins."""

    first_match = False

    def write(self, rules: list[BenchRule]) -> Any:
        return "\n".join(self._policy(rule) for rule in rules)

    def _policy(self, rule: BenchRule) -> str:
        operator = "==" if rule.exact else "like"
        tests = [
            f'context.architecture {operator} "{rule.glob}"',
            f"context.release >= {rule.low} && context.release < {rule.high}",
            f'context.platform == "{rule.platform}"',
            *(f"context.flags.{flag} == {str(value).lower()}" for flag, value in rule.flags),
        ]
        effect = "permit" if rule.runner == "v2" else "forbid"
        return f"{effect}(principal, action, resource) when {{ {' && '.join(tests)} }};"

    def load(self, policy: Any) -> None:
        import cedarpy  # noqa: PLC0415

        self.ask = cedarpy.is_authorized
        self.policies = cedarpy.PolicySet.from_str(policy)
        self.entities = cedarpy.Entities.from_json_str("[]")

    def question(self, context: dict[str, Any]) -> Any:
        who = {"principal": 'Model::"m"', "action": 'Action::"select"', "resource": 'Runner::"v2"'}
        return {**who, "context": context}

    def answer(self, question: Any) -> Any:
        return self.ask(question, self.policies, self.entities).allowed


class Cel(Engine):
    """common-expression-language (CEL in Rust): one program for each rule, the first that holds."""

    def write(self, rules: list[BenchRule]) -> Any:
        return [self._program(rule) for rule in rules]

    def _program(self, rule: BenchRule) -> str:
        begins = (
            f'architecture == "{rule.begins}"' if rule.exact else f'architecture.startsWith("{rule.begins}")'
        )
        tests = [begins, *([f'architecture.endsWith("{rule.ends}")'] if rule.ends else [])]
        tests += [f"release >= {rule.low}", f"release < {rule.high}", f'platform == "{rule.platform}"']
        tests += [f"flags.{flag} == {str(value).lower()}" for flag, value in rule.flags]
        return " && ".join(tests)

    def load(self, policy: Any) -> None:
        import cel  # noqa: PLC0415

        self.programs = [cel.compile(text).execute for text in policy]

    def answer(self, question: Any) -> Any:
        return next((number for number, program in enumerate(self.programs) if program(question)), -1)


class RuleEngine(Engine):
    """rule-engine (pure Python): one rule object for each rule, the first that matches."""

    def write(self, rules: list[BenchRule]) -> Any:
        return [self._text(rule) for rule in rules]

    def _text(self, rule: BenchRule) -> str:
        pattern = f"{rule.begins}.*{rule.ends}$"
        name = f'architecture == "{rule.begins}"' if rule.exact else f'architecture =~ "{pattern}"'
        tests = [name, f"release >= {rule.low}", f"release < {rule.high}", f'platform == "{rule.platform}"']
        tests += [f'flags["{flag}"] == {str(value).lower()}' for flag, value in rule.flags]
        return " and ".join(tests)

    def load(self, policy: Any) -> None:
        import rule_engine  # noqa: PLC0415

        context = rule_engine.Context(resolver=rule_engine.resolve_item)
        self.rules = [rule_engine.Rule(text, context=context).matches for text in policy]

    def answer(self, question: Any) -> Any:
        return next((number for number, matches in enumerate(self.rules) if matches(question)), -1)


ENGINES: dict[str, type[Engine]] = {
    "Python floor": Floor,
    "runnerctl: which rules match": Ours,
    "runnerctl: whole decision": OursWhole,
    "zen-engine": Zen,
    "cedarpy": Cedar,
    "common-expression-language": Cel,
    "rule-engine": RuleEngine,
}
