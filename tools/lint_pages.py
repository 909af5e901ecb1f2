"""Writes what follows from the rules of lint: their pages, and their examples with what lint says of them.

    python tools/lint_pages.py

The docstring of a rule is the source of both: docs/lint/NAME.md is what `runnerctl explain` prints, and
tests/lint/STEM/ holds its examples as files (`fail.yaml`, `pass.yaml`) beside the output (`fail.out`). A test fails
where a file is another than the one that this would write; read the difference before you run it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from policy.lint.registry import Rule, rules  # noqa: E402
from runnerctl.cli.linting import run_lint  # noqa: E402

PAGES = ROOT / "docs" / "lint"
CASES = ROOT / "tests" / "lint"
TODAY = "2026-12-01"
# Examples leave out what every policy begins with.
HEAD = "apiVersion: runnerctl/v1\nkind: RunnerPolicy\nmetadata: {name: example, owner: team}\n"
MARK = "<!-- What follows is made by tools/lint_pages.py. -->"
SECOND = "# --- another file ---\n"


def stem(rule: Rule) -> str:
    return rule.name.replace("-", "_")


def examples(rule: Rule) -> dict[str, str]:
    """The files of a rule's examples by name: `fail.yaml`, `pass.yaml`, and `fail_2.yaml` where one needs two."""
    found = {}
    for word, text in re.findall(
        r"^(Fails|Passes):\n\n```yaml\n(.*?)^```", rule.page, re.DOTALL | re.MULTILINE
    ):
        kind = "fail" if word == "Fails" else "pass"
        for i, part in enumerate(text.split(SECOND)):
            bare = part.startswith(("rules:", "env:", "tests:"))
            found[f"{kind}.yaml" if i == 0 else f"{kind}_{i + 1}.yaml"] = HEAD + part if bare else part
    return found


def output(folder: Path, rule: Rule, words: Sequence[str]) -> tuple[int, str]:
    """The exit code and the findings of one run in `folder`, with this rule alone."""
    out, before = io.StringIO(), Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            code = run_lint(paths=list(words), select=_codes(folder, rule, words), today=TODAY, no_cache=True)
    finally:
        os.chdir(before)
    return code, out.getvalue()


def _codes(folder: Path, rule: Rule, words: Sequence[str]) -> list[str]:
    """The rule, and those that comments in its example are about."""
    texts = [(folder / word).read_text("utf-8", "replace") for word in words if (folder / word).is_file()]
    named = {code for text in texts for code in re.findall(r"ignore\[(\w+)\]", text)}
    return [rule.code, *sorted(named & {other.code for other in rules()} - {rule.code})]


def index(every: Sequence[Rule]) -> str:
    """docs/lint/README.md: what is written there, and all rules, by family."""
    written, mark, _ = (PAGES / "README.md").read_text("utf-8").partition(MARK)
    lines = [written + mark]
    for family in dict.fromkeys(rule.family for rule in every):
        lines += [
            "",
            f"## {family.capitalize()}",
            "",
            "| code | rule | severity | what it finds |",
            "|---|---|---|---|",
        ]
        for rule in every:
            if rule.family == family:
                life = "" if rule.stage == "stable" else f" ({rule.stage})"
                lines.append(
                    f"| {rule.code} | [{rule.name}]({rule.name}.md){life} | {rule.severity} | {rule.summary} |"
                )
    return "\n".join(lines) + "\n"


def pages() -> Iterator[tuple[Path, str]]:
    """Every page with its text."""
    yield PAGES / "README.md", index(rules())
    for rule in rules():
        yield PAGES / f"{rule.name}.md", rule.page


def inputs() -> Iterator[tuple[Path, str]]:
    """Every example with its text."""
    for rule in rules():
        for name, text in examples(rule).items():
            yield CASES / stem(rule) / name, text


def failing(rule: Rule) -> list[str]:
    """What to give to lint for the example that fails; examples that are no YAML are files of their own."""
    folder = CASES / stem(rule)
    found = sorted(path.name for path in folder.glob("fail*") if path.name != "fail.out")
    return found or ["fail.yaml"]


def main() -> None:
    for path, text in [*pages(), *inputs()]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for rule in rules():
        folder = CASES / stem(rule)
        folder.mkdir(exist_ok=True)
        if stem(rule) not in MADE:
            (folder / "fail.out").write_text(output(folder, rule, failing(rule))[1], "utf-8")


# Rules whose input is too large for a file here: tests/lint/test_rules.py makes it.
MADE: Mapping[str, str] = {"file_too_large": "more than 8 MiB", "analysis_cut": "thousands of rules"}

if __name__ == "__main__":
    main()
