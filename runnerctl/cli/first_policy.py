"""The text of a first policy: commented, with a test for each thing that it says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from packaging.version import Version

from policy.document.source import plain_scalar

__all__ = ["Answers", "first_policy"]

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._/+-]*\Z")
_REVIEW = timedelta(days=182)
_SWITCH = "VLLM_USE_V2_MODEL_RUNNER"


@dataclass(frozen=True, slots=True)
class Answers:
    """What was asked. `model` is a registered architecture that the tests are about; `own` the release's own choice."""

    name: str
    owner: str
    release: str
    architectures: tuple[str, ...]
    require: str | None
    because: str
    link: str
    model: str
    own: str
    schema: str


def first_policy(answers: Answers, today: date) -> str:
    """The YAML text. `today` is the day from which the rule's review is counted."""
    return "".join(f"{line}\n" for line in (*_head(answers), *_rules(answers, today), *_tests(answers)))


def _head(answers: Answers) -> Iterator[str]:
    yield f"# yaml-language-server: $schema={answers.schema}"
    yield "#"
    yield "# Which of vLLM's model runners our deployments get. Rules are asked from `require` over `prefer`; where none"
    yield "# matches, the release decides by itself. `runnerctl test` runs the tests below, `runnerctl resolve` answers for"
    yield "# one deployment and says why."
    yield "apiVersion: runnerctl/v1"
    yield "kind: RunnerPolicy"
    yield "metadata:"
    yield f"  name: {_text(answers.name)}"
    yield (
        f"  owner: {_text(answers.owner)}"
        if answers.owner
        else "  # owner: the team that answers for these rules"
    )


def _rules(answers: Answers, today: date) -> Iterator[str]:
    yield ""
    if answers.require is None:
        yield "# Each rule: `match` is what a deployment must have, in vLLM's own names; `runner` is v1, v2 or engine."
        yield "rules: []  # with the first rule, the brackets go"
        yield from (f"#{line}" for line in _rule(_example(answers), today))
        return
    yield "rules:"
    yield from _rule(answers, today)


def _example(answers: Answers) -> Answers:
    return Answers(
        **{
            **{name: getattr(answers, name) for name in Answers.__slots__},
            "require": "v1",
            "because": "What breaks under the other runner, in one sentence.",
        }
    )


def _rule(answers: Answers, today: date) -> Iterator[str]:
    first, after = _line(answers.release)
    yield f"  - id: {rule_id(answers)}"
    yield "    match:"
    if answers.architectures:
        names = ", ".join(_text(name) for name in answers.architectures)
        one = len(answers.architectures) == 1
        yield f"      architectures: {names if one else f'[{names}]'}"
    yield f'      vllm: ">={first}.dev0,<{after}.dev0"  # .dev0 takes nightly builds and release candidates in'
    yield f"    runner: {answers.require}"
    yield "    enforce: require  # this runner or nothing; prefer: if it can serve the deployment"
    yield f"    reason: {_text(answers.because)}"
    yield f"    expires: {today + _REVIEW}  # the day to look again; the rule goes on deciding, with a warning"
    yield (
        f"    links: [{_text(answers.link)}]"
        if answers.link
        else "    # links: [the issue or the measurement]"
    )


def _tests(answers: Answers) -> Iterator[str]:
    _, after = _line(answers.release)
    facts = f"architectures: [{answers.model}]"
    yield ""
    yield "tests:"
    if answers.require is None:
        yield f"  - name: vLLM {answers.release} decides by itself"
        yield f"    given: {{vllm: {_quoted(answers.release)}, {facts}}}"
        yield f"    expect: {{runner: {answers.own}, layer: engine}}"
        return
    decides = f"rule: {rule_id(answers)}"
    runner = answers.own if answers.require == "engine" else answers.require
    against = "0" if runner == "v2" else "1"
    yield f"  - name: what we run on {answers.release}"
    yield f"    given: {{vllm: {_quoted(answers.release)}, {facts}}}"
    yield f"    expect: {{runner: {runner}, {decides}}}"
    yield "  - name: an image with the other runner baked in"
    yield f'    given: {{vllm: {_quoted(answers.release)}, {facts}, env: {{{_SWITCH}: "{against}"}}}}'
    yield f"    expect: {{runner: {runner}, {decides}, overrides: [{_SWITCH}]}}"
    yield "  - name: the next release is another question"
    yield f"    given: {{vllm: {after}.dev0, {facts}}}"
    yield f"    assume: {_quoted(answers.release)}  # no catalog describes a nightly build: it is decided as this release"
    yield "    expect: {layer: engine}"


def rule_id(answers: Answers) -> str:
    """The id of the rule, after the first architecture or the policy."""
    about = answers.architectures[0] if answers.architectures else answers.name
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1-\2", about.removesuffix("ForCausalLM"))
    stem = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") or "all"
    return f"{stem}-follows-vllm" if answers.require == "engine" else f"{stem}-needs-{answers.require}"


def _line(release: str) -> tuple[str, str]:
    """The minor release of a release, and the one after."""
    version = Version(release)
    return f"{version.major}.{version.minor}", f"{version.major}.{version.minor + 1}"


def _quoted(release: str) -> str:
    return release if isinstance(plain_scalar(release), str) else f'"{release}"'


def _text(text: str) -> str:
    """A scalar that reads as this text."""
    if _PLAIN.match(text) and isinstance(plain_scalar(text), str) and not text.endswith(" "):
        return text
    return json.dumps(text, ensure_ascii=False)
