"""The report as Markdown: the verdict, the findings, the figures with their spread, and what made them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["markdown_of"]

TITLES = {
    "tokens_per_second": ("Throughput", "tokens/s", 1.0, "{:.0f}"),
    "seconds_per_token": ("Time between tokens", "ms", 1e3, "{:.2f}"),
    "first_token_seconds": ("Time to the first token", "ms", 1e3, "{:.1f}"),
}
SIGNS = {"same": "same", "different": "**different**", "undetermined": "undetermined"}


def markdown_of(report: Mapping[str, Any], rule: str | None, pictures: Sequence[str]) -> str:
    """The whole page. `pictures` are the files beside it."""
    return "\n".join(_lines(report, rule, pictures)) + "\n"


def _lines(report: Mapping[str, Any], rule: str | None, pictures: Sequence[str]) -> Iterator[str]:
    engine, machine, load = report["engine"], report["machine"], report["workload"]
    yield f"# Parity of {' and '.join(report['against'])}: {load['model']}"
    yield ""
    yield f"**{report['verdict']['text'][0].upper()}{report['verdict']['text'][1:]}.**"
    yield ""
    yield (
        f"vLLM {report['vllm']}, {', '.join(engine['architectures'])}, {engine['dtype'].removeprefix('torch.')}"
        f"{', ' + engine['quantization'] if engine['quantization'] else ''}"
        f"{', eager' if engine['enforce_eager'] else ''}"
        f", asynchronous scheduling {'on' if engine['async_scheduling'] else 'off'}"
        f", tensor parallel {engine['tensor_parallel_size']}; {machine['device']}, {machine['cpus']} CPUs, "
        f"torch {machine['torch']}, Python {machine['python']}; {report['made']}."
    )
    yield ""
    yield "```bash"
    yield report["command"]
    yield "```"
    for runner, why in report["skipped"].items():
        yield ""
        yield f"Not measured: {runner}. {why}"
    if report["findings"]:
        yield from _findings(report)
    yield from _figures(report)
    yield from _attested(report)
    for picture in pictures:
        yield ""
        yield f"![{picture.rpartition('.')[0]}]({picture})"
    yield ""
    yield "## The rule that this supports"
    yield ""
    if rule is None:
        yield f"None: {_why_no_rule(report)}."
    else:
        yield "```yaml"
        yield rule.rstrip()
        yield "```"


def _findings(report: Mapping[str, Any]) -> Iterator[str]:
    tolerances = report["tolerances"]
    yield ""
    yield "## Findings"
    yield ""
    yield (
        f"Tolerances: tokens may part where the runner-up is nearer than {tolerances['tie']:g} nats; "
        f"log-probabilities may differ by {tolerances['logprob']:g} nats a token; speed by "
        f"{tolerances['speed'] * 100:g} %, and a larger difference counts only where the middle halves of the "
        "measurements do not overlap."
    )
    yield ""
    yield "| compared | verdict | why |"
    yield "|---|---|---|"
    for finding in report["findings"]:
        what = finding["what"].replace("_", " ")
        yield f"| {what} | {SIGNS[finding['verdict']]} | {finding['why']} |"
    partings = report["findings"][0]["detail"]["partings"]
    if partings:
        yield ""
        yield "| prompt | parts at token | tokens | distance of the runner-up, nats |"
        yield "|---|---|---|---|"
        for p in partings:
            yield f"| {p['prompt']} | {p['token']} | {p['tokens'][0]}, {p['tokens'][1]} | {p['margin']:.3f} |"


def _figures(report: Mapping[str, Any]) -> Iterator[str]:
    load = report["workload"]
    yield ""
    yield "## Figures"
    yield ""
    yield (
        f"Median, and lowest to highest; {load['input_tokens']} random tokens in, {load['output_tokens']} out, "
        f"{load['repeats']} repeats in each engine, engines a runner: {_starts(report)}, started by turns."
    )
    figures = report["figures"]
    yield ""
    yield f"| | {' | '.join(figures)} |"
    yield f"|---|{'---|' * len(figures)}"
    yield f"| start, s | {' | '.join(_cell(by['start_seconds']['-'], 1.0, '{:.1f}') for by in figures.values())} |"
    for name, (title, unit, scale, form) in TITLES.items():
        for size in next(iter(figures.values())).get(name, {}):
            cells = " | ".join(_cell(by[name][size], scale, form) for by in figures.values())
            yield f"| {title} at {size}, {unit} | {cells} |"


def _starts(report: Mapping[str, Any]) -> int:
    return sum(run["runner"] == report["measured"][0] for run in report["runs"])


def _cell(spread: Mapping[str, float], scale: float, form: str) -> str:
    middle, low, high = (form.format(spread[name] * scale) for name in ("median", "low", "high"))
    return middle if spread["count"] == 1 else f"{middle} ({low} to {high})"


def _attested(report: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield "## Attested by the guard"
    yield ""
    yield "| engine | process | runner | module |"
    yield "|---|---|---|---|"
    for number, run in enumerate(report["runs"], 1):
        for process in run["processes"]:
            rank = "" if process["rank"] is None else f" {process['rank']}"
            yield f"| {number} | {process['role']}{rank} | {process['runner']} | {process['module'] or ''} |"


def _why_no_rule(report: Mapping[str, Any]) -> str:
    if report["verdict"]["answers"] == "same":
        return "which runner is faster cannot be told; more `--starts` and `--repeats` would tell"
    return "a rule needs two runners whose answers could be compared"
