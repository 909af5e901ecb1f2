"""An upgrade as Markdown for a pull request comment: counts, a table, details that fold away."""

from __future__ import annotations

import html
import re

from policy.engine.release import RUNNERS
from policy.upgrade.change import Change
from policy.upgrade.tally import Tally
from policy.upgrade.text import change_text, plain, said

__all__ = [
    "TABLE_HEAD",
    "change_details",
    "change_row",
    "code_block",
    "escaped",
    "invalid_row",
    "tally_markdown",
]

TABLE_HEAD = "| deployment | change | before | after | why |\n| --- | --- | --- | --- | --- |\n"
_SPECIAL = re.compile(r"([\\`*_\[\]~|#])")
_CHANGES = {
    "error": "starts to fail",
    "fixed": "newly possible",
    "undetermined": "undetermined",
    "same": "same",
}


def escaped(text: str) -> str:
    """Text that stays text in a table cell: no markup, no HTML, no new line, nobody mentioned."""
    shown = plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", shown).replace("@", "@<!-- -->")


def change_row(change: Change) -> str:
    what = f"**flips** {change.direction}" if change.direction else _CHANGES[change.kind]
    if change.kind == "error":
        what = f"**{what}**"
    if change.fails_in_both:
        what = "fails in both"
    before, after = (d.runner or d.status for d in (change.before, change.after))
    cells = [escaped(change.name), what.replace("->", "→"), before, after, escaped(said(change.after))]
    return f"| {' | '.join(cells)} |\n"


def invalid_row(name: str, message: str) -> str:
    return f"| {escaped(name)} | invalid | | | {escaped(message)} |\n"


def change_details(change: Change) -> str:
    """The whole text of one deployment, folded away under its name."""
    features = sum(
        len(f.supported) + len(f.unsupported) for f in (change.features.get(r) for r in RUNNERS) if f
    )
    more = f" ({features} features change sides)" if features > 1 else ""
    head = f"<details><summary>{html.escape(plain(change.name))}{more}</summary>\n\n"
    return f"{head}{code_block(change_text(change), 'text')}\n</details>\n\n"


def code_block(text: str, language: str) -> str:
    """A fenced block whose fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}{fence}\n"


def tally_markdown(tally: Tally) -> str:
    """The rules that rot, and the rules that would keep the runner of before."""
    parts: list[str] = []
    if tally.rotting:
        parts.append(f"### Rules that rot in vLLM {escaped(tally.after)}\n\n")
        parts.append("| rule | state | deployments | why |\n| --- | --- | --- | --- |\n")
        for pin, count in tally.rotting:
            cells = (
                f"{escaped(pin.rule)} ({escaped(pin.location)})",
                pin.state,
                str(count),
                escaped(pin.message),
            )
            parts.append(f"| {' | '.join(cells)} |\n")
        parts.append("\n")
    if tally.keeps:
        rules = "".join(keep.yaml or "" for keep in tally.keeps.values())
        parts.append(f"### Rules that would keep the runner\n\n{code_block(rules, 'yaml')}\n")
    return "".join(parts)
