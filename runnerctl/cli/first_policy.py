"""The text of a first policy: commented, with a test for each thing that it says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from packaging.version import Version

from policy.document.source import plain_scalar

__all__ = ["Answers", "first_policy", "line_before"]

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._/+-]*\Z")
_REVIEW = timedelta(days=182)
_SWITCH = "VLLM_USE_V2_MODEL_RUNNER"


@dataclass(frozen=True, slots=True)
class Answers:
    """What was asked, and what the catalog says to it.

    `models` are registered architectures that the rule is about, for the tests, and `other` is one that it is not about,
    if there is one. `own` is the release's own choice for the first of them, `switch` whether the release reads the
    switch, and `before` a release of the line before, which the catalog need not describe.
    """

    name: str
    owner: str
    release: str
    architectures: tuple[str, ...]
    require: str | None
    because: str
    link: str
    models: tuple[str, ...]
    schema: str
    other: str | None = None
    own: str = ""
    switch: bool = True
    before: str = ""
    before_described: bool = False

    @property
    def runner(self) -> str:
        """The runner that the rule gives the first of the models."""
        return self.own if self.require in (None, "engine") else str(self.require)


def first_policy(answers: Answers, today: date) -> str:
    """The YAML text. `today` is the day from which the rule's review is counted."""
    return "".join(
        f"{line}\n" for line in (*_head(answers), *_rules(answers, today), *_tests(answers, today))
    )


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


def _tests(answers: Answers, today: date) -> Iterator[str]:
    yield ""
    if answers.require is None:
        yield "tests:"
        yield from _test(
            f"vLLM {answers.release} decides by itself",
            _given(answers.release, answers.models[0]),
            f"runner: {answers.own}, layer: engine",
        )
        return
    yield "# Each part of the rule is held by a test: change one, and a test fails. `runnerctl test --mutation` tries them all."
    yield "tests:"
    yield from _of_models(answers)
    yield from _of_review(answers, today + _REVIEW)
    yield from _of_releases(answers)


def _of_models(answers: Answers) -> Iterator[str]:
    """Whom the rule is about and whom not, and that nothing else sets the switch."""
    decided = f"runner: {answers.runner}, rule: {rule_id(answers)}"
    first, *others = answers.models
    facts = _given(answers.release, first)
    unset = f"unset: [{_SWITCH if answers.require == 'engine' else ''}]"
    # Without a switch nothing can be overridden below: the rule's own words are all that could be wrong.
    more = "" if answers.switch else f", enforce: require, {unset}"
    yield from _test(f"what we run on {answers.release}", facts, decided + more)
    for model in others:
        runs = f"rule: {rule_id(answers)}"
        yield from _test(f"{model} on {answers.release}", _given(answers.release, model), runs)
    if answers.other:
        yield from _test(
            "another model is another question", _given(answers.release, answers.other), "layer: engine"
        )
    if answers.switch:
        against = "0" if answers.runner == "v2" else "1"
        kept = "1" if answers.runner == "v2" else "0"
        sets = unset if answers.require == "engine" else f'env: {{{_SWITCH}: "{kept}"}}'
        yield from _test(
            "an image with the other runner baked in",
            f'{facts}, env: {{{_SWITCH}: "{against}"}}',
            f"{decided}, {sets}, overrides: [{_SWITCH}]",
        )


def _of_review(answers: Answers, review: date) -> Iterator[str]:
    """That the rule goes on deciding on the day of its review, and that this is said."""
    expect = f'rule: {rule_id(answers)}, warnings: ["expired on {review}"]'
    yield from _test(
        "the day to look again", _given(answers.release, answers.models[0]), expect, today=review
    )


def _of_releases(answers: Answers) -> Iterator[str]:
    """That the rule begins and ends where its releases do."""
    first, after = _line(answers.release)
    model, release = answers.models[0], answers.release
    decided = f"rule: {rule_id(answers)}"
    yield from _test(
        "a nightly build",
        _given(f"{first}.dev0", model),
        decided,
        assume=release,
        why="no catalog describes a nightly build: it is decided as this release",
    )
    yield from _test(
        "the release before is another question",
        _given(answers.before, model),
        "layer: engine",
        assume=None if answers.before_described else release,
    )
    yield from _test(
        "the next release is another question",
        _given(f"{after}.dev0", model),
        "layer: engine",
        assume=release,
    )


def _given(release: str, model: str) -> str:
    return f"vllm: {_quoted(release)}, architectures: [{_text(model)}]"


def _test(
    name: str, given: str, expect: str, *, today: date | None = None, assume: str | None = None, why: str = ""
) -> Iterator[str]:
    yield f"  - name: {_text(name)}"
    yield f"    given: {{{given}}}"
    if today is not None:
        yield f"    today: {today}"
    if assume is not None:
        yield f"    assume: {_quoted(assume)}" + (f"  # {why}" if why else "")
    yield f"    expect: {{{expect}}}"


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


def line_before(release: str) -> str:
    """The first release of the line before; of the first line of a major version, that of the version before."""
    version = Version(release)
    return f"{version.major}.{version.minor - 1}.0" if version.minor else f"{max(version.major - 1, 0)}.0.0"


def _quoted(release: str) -> str:
    return release if isinstance(plain_scalar(release), str) else f'"{release}"'


def _text(text: str) -> str:
    """A scalar that reads as this text."""
    if _PLAIN.match(text) and isinstance(plain_scalar(text), str) and not text.endswith(" "):
        return text
    return json.dumps(text, ensure_ascii=False)
