"""The policy rule that a comparison supports, as YAML to paste. Pure, the day injected."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

__all__ = ["rule_text"]

# A pin made from a measurement is looked at again after so long.
KEPT = timedelta(days=90)
HEAD = """\
apiVersion: runnerctl/v1
kind: RunnerPolicy
metadata: {{name: parity-{name}}}
rules:
"""


def rule_text(report: Mapping[str, Any], today: date) -> str | None:
    """A policy document of one rule and its test; None where two runners were not compared, or nothing was told.

    The answers decide first: where they differ, the first runner is required until somebody has looked. Where they
    agree, the faster runner is preferred, and the second one where both are as fast.
    """
    verdict = report["verdict"]
    told = verdict["answers"] == "different" or (
        verdict["answers"] == "same" and verdict["speed"] != "undetermined"
    )
    if not told:
        return None
    first, second = report["measured"]
    architectures = report["engine"]["architectures"]
    release = report["vllm"].partition("+")[0]
    if verdict["answers"] == "different":
        runner, enforce = first, "require"
    elif verdict["speed"] in ("slower", "mixed"):
        runner, enforce = first, "prefer"
    else:
        runner, enforce = second, "prefer"
    quantized = report["engine"]["quantization"] is not None
    moe = report["engine"]["is_moe"]
    kind = report["engine"]["runner_type"]
    name = architectures[0].lower()
    match = [
        f"architectures: [{', '.join(architectures)}]",
        f'vllm: "=={release}"',
        f"model_config.runner_type: {kind}",
        f"model_config.is_moe: {_yaml(moe)}",
        f"model_config.is_quantized: {_yaml(quantized)}",
    ]
    given = [
        f"vllm: {release}",
        f"architectures: [{', '.join(architectures)}]",
        f"model_config.runner_type: {kind}",
        f"model_config.is_moe: {_yaml(moe)}",
        f"model_config.is_quantized: {_yaml(quantized)}",
    ]
    rule = f"{name}-{runner}-by-parity"
    lines = [
        HEAD.format(name=name).rstrip(),
        f"  - id: {rule}",
        "    match:",
        *(f"      {line}" for line in match),
        f"    runner: {runner}",
        f"    enforce: {enforce}",
        f"    reason: {_quoted(_reason(report))}",
        f"    expires: {(today + KEPT).isoformat()}",
        "tests:",
        f"  - given: {{{', '.join(given)}}}",
        f"    expect: {{runner: {runner}, rule: {rule}}}",
    ]
    return "\n".join(lines) + "\n"


def _reason(report: Mapping[str, Any]) -> str:
    device = report["machine"]["device"]
    model = report["workload"]["model"]
    return f"{report['verdict']['text']} (runnerctl parity of {model}, {report['made'][:10]}, {device})."


def _yaml(value: bool) -> str:
    return "true" if value else "false"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
