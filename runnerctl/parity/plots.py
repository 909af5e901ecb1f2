"""The report as pictures. Needs matplotlib, the extra `parity`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from policy.input_error import InputError

__all__ = ["MISSING", "PlotsUnavailable", "draw"]

# Of the colour-blind-safe set of Okabe and Ito.
COLOURS = {"v1": "#0072B2", "v2": "#D55E00"}
PICTURES = {
    "throughput": ("tokens_per_second", 1.0, "throughput, tokens/s"),
    "latency": ("seconds_per_token", 1e3, "time between tokens, ms"),
    "first-token": ("first_token_seconds", 1e3, "time to the first token, ms"),
}

MISSING = "plots need matplotlib: pip install 'runnerctl[parity]', or leave them out with --plots none"


class PlotsUnavailable(InputError):  # noqa: N818  (what is missing)
    """matplotlib is not installed."""


def draw(report: Mapping[str, Any], folder: Path, formats: Sequence[str]) -> list[str]:
    """Write the pictures to `folder`, and give their names. Raises `PlotsUnavailable`, `OSError`."""
    try:
        import matplotlib  # noqa: PLC0415  (an extra, and half a second)
    except ImportError as error:
        raise PlotsUnavailable(MISSING) from error
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "runnerctl"  # the same report gives the same bytes
    matplotlib.rcParams["svg.fonttype"] = "none"  # letters stay letters: smaller, and found by a search
    names = []
    for stem, figure in _figures(report):
        for kind in formats:
            name = f"{stem}.{kind}"
            metadata = {"Date": None} if kind == "svg" else None
            figure.savefig(folder / name, dpi=150, metadata=metadata)
            names.append(name)
    return names


def _figures(report: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    figures = report["figures"]
    for stem, (name, scale, label) in PICTURES.items():
        sizes = list(next(iter(figures.values())).get(name, {}))
        if sizes:
            yield stem, _by_size(report, name, sizes, scale, label)
    yield "start", _starts(report)
    if report["findings"]:
        yield "logprobs", _logprobs(report)


def _axes(report: Mapping[str, Any], title: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(
        f"{title}\n{', '.join(report['engine']['architectures'])}, vLLM {report['vllm']}", fontsize=10
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.3)
    return figure, axes


def _by_size(report: Mapping[str, Any], name: str, sizes: Sequence[str], scale: float, label: str) -> Any:
    figure, axes = _axes(report, label)
    for at, (runner, by) in enumerate(report["figures"].items()):
        where = [place + (at - 0.5) * 0.06 for place in range(len(sizes))]  # side by side, to be told apart
        spreads = [by[name][size] for size in sizes]
        middle = [s["median"] * scale for s in spreads]
        below = [(s["median"] - s["low"]) * scale for s in spreads]
        above = [(s["high"] - s["median"]) * scale for s in spreads]
        axes.errorbar(
            where, middle, yerr=[below, above], marker="o", capsize=4, label=runner, color=COLOURS[runner]
        )
    axes.set_xticks(range(len(sizes)), sizes)
    axes.set_xlabel("requests in a batch")
    axes.set_ylabel("median, lowest to highest")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return figure


def _starts(report: Mapping[str, Any]) -> Any:
    figure, axes = _axes(report, "start of the engine")
    for at, (runner, by) in enumerate(report["figures"].items()):
        spread = by["start_seconds"]["-"]
        error = [[spread["median"] - spread["low"]], [spread["high"] - spread["median"]]]
        axes.bar(at, spread["median"], yerr=error, capsize=6, width=0.5, color=COLOURS[runner])
    axes.set_xticks(range(len(report["figures"])), list(report["figures"]))
    axes.set_ylabel("s from launch to ready")
    return figure


def _logprobs(report: Mapping[str, Any]) -> Any:
    figure, axes = _axes(report, "cumulative log-probability of each answer")
    detail = report["findings"][0]["detail"]
    first, second = report["measured"]
    ours, theirs = zip(*detail["cumulative_logprobs"], strict=True)
    parted = {parting["prompt"] for parting in detail["partings"]}
    faces = ["none" if n in parted else COLOURS[second] for n in range(len(ours))]
    ends = [min(*ours, *theirs), max(*ours, *theirs)]
    axes.plot(ends, ends, color="0.6", linewidth=1, zorder=0)
    axes.scatter(ours, theirs, facecolors=faces, edgecolors=COLOURS[second])
    if parted:
        axes.scatter(
            [], [], facecolors="none", edgecolors=COLOURS[second], label="other tokens from some point on"
        )
        axes.legend(frameon=False)
    axes.set_xlabel(f"{first}, nats")
    axes.set_ylabel(f"{second}, nats")
    return figure
