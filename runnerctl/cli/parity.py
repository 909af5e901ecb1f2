"""`runnerctl parity`: the same prompts under both runners, and whether that makes a difference."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from policy.input_error import reason_of
from runnerctl.cli.exits import ExitCode, UsageError
from runnerctl.cli.formats import ReportFormat

if TYPE_CHECKING:
    from policy.engine.release import Runner


def parity(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL [-- ENGINE ARGS...]", help="The model, and arguments of `vllm serve`."),
    ] = None,
    against: Annotated[
        str, typer.Option(metavar="RUNNERS", help="The runner in use, then the other.")
    ] = "v1,v2",
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of the report.")
    ] = Path("parity"),
    prompts: Annotated[
        str | None, typer.Option(metavar="FILE", help="One prompt a line: text, or a JSON list of token ids.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(help="Tokens of each answer that is compared.")] = 32,
    batch_sizes: Annotated[str, typer.Option(metavar="SIZES", help="Batches that are timed.")] = "1,8,32",
    input_tokens: Annotated[int, typer.Option(help="Of each timed request.")] = 32,
    output_tokens: Annotated[int, typer.Option(help="Of each timed request.")] = 64,
    repeats: Annotated[int, typer.Option(help="Timed repeats in each engine.")] = 3,
    starts: Annotated[int, typer.Option(help="Engines of each runner, started by turns.")] = 2,
    tie: Annotated[
        float, typer.Option(help="Candidates for a token nearer than this are a tie; nats.")
    ] = 0.1,
    logprob_tolerance: Annotated[float, typer.Option(help="Nats a token.")] = 0.02,
    speed_tolerance: Annotated[float, typer.Option(help="A share: 0.1 is 10 %.")] = 0.1,
    plots: Annotated[
        str | None,
        typer.Option(metavar="KINDS", help="png, svg, both, or none; without it, what can be drawn."),
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds for one engine, start included.")] = 1800.0,
    format_: Annotated[
        ReportFormat, typer.Option("--format", help="What to print: text, json or markdown.")
    ] = ReportFormat.text,
    from_: Annotated[
        Path | None, typer.Option("--from", metavar="REPORT.json", help="Write an earlier report anew.")
    ] = None,
) -> None:
    """Compare MODEL under both runners: answers, start, throughput and latency; exit 1 if the answers differ."""
    from runnerctl.parity.compare import Tolerances
    from runnerctl.parity.conduct import Comparison, conduct, write_report
    from runnerctl.parity.run import RunFailed
    from runnerctl.parity.workload import PROMPTS, Workload, read_prompts

    kinds = _kinds(plots)
    if from_ is not None:
        if words:
            raise UsageError("--from takes the model from the report; give one of the two")
        report = _earlier(from_)
    else:
        if not words:
            raise UsageError("nothing to compare: give MODEL")
        workload = Workload(
            model=words[0],
            engine_args=tuple(words[1:]),
            prompts=read_prompts(prompts) if prompts else PROMPTS,
            max_tokens=max_tokens,
            batch_sizes=_sizes(batch_sizes),
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            repeats=repeats,
        )
        if starts < 1:
            raise UsageError("--starts: must be at least 1")
        if plots is not None and kinds:
            _need_matplotlib()
        if not timeout > 0:
            raise UsageError(f"--timeout {timeout:g}: an engine needs some seconds")
        comparison = Comparison(
            workload,
            _runners(against),
            starts,
            Tolerances(tie, logprob_tolerance, speed_tolerance),
            output.absolute(),
            timeout,
            shlex.join(["runnerctl", *sys.argv[1:]]),
        )
        from runnerctl.cli.inputs import open_catalog

        try:
            report = conduct(
                comparison, os.environ, open_catalog(None), lambda text: typer.echo(text, err=True)
            )
        except RunFailed as failure:
            typer.echo(str(failure), err=True)
            raise typer.Exit(ExitCode.DIFFERENT if failure.different else ExitCode.NO) from failure
        except OSError as error:
            raise UsageError(f"{output}: cannot be written: {reason_of(error)}") from error
    try:
        notes = write_report(report, output, kinds, must_draw=plots is not None)
    except OSError as error:
        raise UsageError(f"{output}: cannot be written: {reason_of(error)}") from error
    for note in notes:
        typer.echo(f"note: {note}", err=True)
    _print(report, output, format_)
    raise typer.Exit(_exit_code(report))


def _sizes(text: str) -> tuple[int, ...]:
    try:
        found = [int(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise UsageError(f"--batch-sizes {text}: write whole numbers, such as 1,8,32") from error
    return tuple(sorted(set(found)))


def _runners(text: str) -> tuple[Runner, ...]:
    from runnerctl.testing.force import as_runner

    found = tuple(dict.fromkeys(as_runner(part.strip()) for part in text.split(",")))
    if len(found) != 2:
        raise UsageError(f"--against {text}: name both runners, the one in use first: v1,v2")
    return found


def _kinds(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ("png", "svg")
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    if found == ("none",):
        return ()
    for kind in found:
        if kind not in ("png", "svg"):
            raise UsageError(f"--plots {text}: `{kind}` is none of png, svg and none")
    return found


def _need_matplotlib() -> None:
    from importlib.util import find_spec

    from runnerctl.parity.plots import MISSING, PlotsUnavailable

    if find_spec("matplotlib") is None:
        raise PlotsUnavailable(MISSING)


def _earlier(name: Path) -> Any:
    from policy.document import parse, read_source
    from policy.document.schema import check

    document = parse(read_source(str(name)))
    check(document, "parity")
    try:
        return json.loads(name.read_text("utf-8-sig"))
    except ValueError as error:
        raise UsageError(f"{name}: not JSON: {str(error).lower()}") from error


def _print(report: Any, folder: Path, format_: ReportFormat) -> None:
    if format_ is ReportFormat.json:
        typer.echo(json.dumps(report, indent=1))
    elif format_ is ReportFormat.markdown:
        typer.echo((folder / "report.md").read_text("utf-8"), nl=False)
    else:
        from runnerctl.cli.parity_text import parity_text

        typer.echo(parity_text(report), nl=False)
        typer.echo(f"report in {folder / 'report.md'}", err=True)


def _exit_code(report: Any) -> ExitCode:
    if any("its engine failed" in why for why in report["skipped"].values()):
        return ExitCode.NO
    answers = report["verdict"]["answers"]
    return {"same": ExitCode.OK, "different": ExitCode.NO}.get(answers, ExitCode.UNDETERMINED)
