"""Sparse weight patches under either runner: checked before anything is written, and verified afterwards if wanted.

`SparseWeightPatch` is vLLM's: a parameter's name, flat int32 indices, and the values to put there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from packaging.version import InvalidVersion, Version

from policy.engine.release import Runner
from policy.input_error import InputError
from runnerctl.testing.borrowing import ForwardRefused, forward_to_v1

__all__ = [
    "PatchRefused",
    "Patched",
    "SparsePatches",
    "apply_sparse_weight_patches",
    "parameter_digests",
    "sparse_patches_in",
]

METHOD = "apply_sparse_weight_patches"
# From the wheels' sources: V1's runner has the method in these releases, and V2's lends it there.
SINCE, UNTIL = Version("0.23.0"), Version("0.25.0")
INSTEAD = (
    "from 0.25 on sparse updates go through weight transfer: WeightTransferConfig(backend='sparse_nccl') "
    "and update_weights"
)


class ReleaseError(InputError):
    """A release that is none."""


class PatchRefused(ValueError):  # noqa: N818  (what happened, not that it is an error)
    """Patches that were not applied: nothing was written. Each line is one reason."""


@dataclass(frozen=True, slots=True)
class SparsePatches:
    """What a release has: `native` (a method of its runners), `gone` or `never`, and the sentence to show."""

    status: Literal["native", "gone", "never"]
    explanation: str


@dataclass(frozen=True, slots=True)
class Patched:
    """What was done: whose code ran, and the parameters' digests before and after, where they were asked for."""

    by: Runner
    names: tuple[str, ...]
    before: Mapping[str, str] | None = None
    after: Mapping[str, str] | None = None


def sparse_patches_in(release: str) -> SparsePatches:
    """What the vLLM `release` has of `apply_sparse_weight_patches`. A candidate is the release that it became."""
    try:
        version = Version(Version(release).base_version)
    except InvalidVersion as error:
        raise ReleaseError(
            f"`{release}` is not a release: a release is a PEP 440 version such as 0.23.0"
        ) from error
    if version < SINCE:
        return SparsePatches("never", f"vLLM {release} has no {METHOD} yet: it came with {SINCE}")
    if version < UNTIL:
        return SparsePatches("native", f"vLLM {release} has {METHOD} in V1, and lends it to V2")
    return SparsePatches("gone", f"vLLM {release} has no {METHOD} any more; {INSTEAD}")


def parameter_digests(model: Any) -> dict[str, str]:
    """SHA-256 of every parameter of a torch module, by name: of its values, wherever and however they lie."""
    return {name: _digest(parameter.data) for name, parameter in model.named_parameters()}


def _digest(tensor: Any) -> str:
    import torch  # noqa: PLC0415  (where a model is)

    flat = tensor.detach().contiguous().reshape(-1).cpu().view(torch.uint8)
    return hashlib.sha256(flat.numpy().tobytes()).hexdigest()


def apply_sparse_weight_patches(
    runner: Any, patches: Iterable[Any], *, verify: bool = False, release: str | None = None
) -> Patched:
    """Apply vLLM's `SparseWeightPatch`es to the model of a live runner, V1 or V2.

    All patches are checked first (`PatchRefused`), then whether the runner can do it at all (`ForwardRefused`).
    Afterwards each parameter must be the object that it was, in the memory where it was; with `verify` every
    parameter's digest is compared with one worked out by hand. `release` is for the messages: the vLLM that runs.
    """
    wanted = list(patches)
    model = runner.get_model()
    parameters = dict(model.named_parameters())
    problems = [line for patch in wanted for line in _unfit(patch, parameters)]
    if problems:
        raise PatchRefused("nothing was patched:" + "".join(f"\n  {line}" for line in problems))
    if not hasattr(runner, METHOD):
        known = sparse_patches_in(release or _running_release())
        if known.status != "native":
            raise ForwardRefused(known.explanation)
    verdict = forward_to_v1(runner, METHOD)
    if not verdict.safe:
        raise ForwardRefused(verdict.explanation)
    before = parameter_digests(model) if verify else None
    expected = {**before, **_by_hand(wanted, parameters)} if before is not None else None
    places = {patch.name: _place(parameters[patch.name]) for patch in wanted}
    verdict.call(wanted)
    _check_in_place(model, parameters, places)
    after = parameter_digests(model) if verify else None
    if expected is not None and after is not None:
        _compare(expected, after)
    return Patched(verdict.by, tuple(places), before, after)


def _unfit(patch: Any, parameters: Mapping[str, Any]) -> Iterator[str]:
    import torch  # noqa: PLC0415

    parameter = parameters.get(patch.name)
    if parameter is None:
        yield f"`{patch.name}`: the model has no such parameter"
        return
    if not parameter.data.is_contiguous():
        yield f"`{patch.name}`: the parameter is not contiguous, so that flat indices mean nothing"
    indices, values = patch.indices, patch.values
    if indices.dtype is not torch.int32:
        yield f"`{patch.name}`: the indices are {indices.dtype}, and must be torch.int32"
    if indices.ndim != 1 or values.ndim != 1:
        yield f"`{patch.name}`: indices and values must have one dimension"
        return
    if indices.numel() != values.numel():
        yield f"`{patch.name}`: {indices.numel()} indices and {values.numel()} values"
    if values.dtype is not parameter.dtype:
        yield f"`{patch.name}`: the values are {values.dtype}, and the parameter is {parameter.dtype}"
    if indices.numel() and not (int(indices.min()) >= 0 and int(indices.max()) < parameter.numel()):
        yield f"`{patch.name}`: an index is outside of the parameter's {parameter.numel()} values"
    if indices.unique().numel() != indices.numel():
        yield f"`{patch.name}`: an index is there twice, and which value would win is not said"


def _place(parameter: Any) -> tuple[int, int, Any]:
    return id(parameter), parameter.data_ptr(), parameter.device


def _check_in_place(model: Any, parameters: Mapping[str, Any], places: Mapping[str, Any]) -> None:
    """Compiled graphs read from where the parameters were: a replaced one would be patched for nobody."""
    now = dict(model.named_parameters())
    moved = [
        name
        for name, place in places.items()
        if now[name] is not parameters[name] or _place(now[name]) != place
    ]
    if moved:
        raise AssertionError(f"not patched in place: {', '.join(f'`{name}`' for name in moved)}")


def _by_hand(patches: Sequence[Any], parameters: Mapping[str, Any]) -> dict[str, str]:
    copies = {patch.name: parameters[patch.name].data.clone() for patch in patches}
    for patch in patches:
        copy = copies[patch.name]
        copy.view(-1)[patch.indices.long().to(copy.device)] = patch.values.to(copy.device)
    return {name: _digest(copy) for name, copy in copies.items()}


def _compare(expected: Mapping[str, str], after: Mapping[str, str]) -> None:
    wrong = sorted(name for name in expected if after.get(name) != expected[name])
    if wrong:
        raise AssertionError(f"after the patches these are not what they should be: {', '.join(wrong)}")


def _running_release() -> str:
    import vllm  # noqa: PLC0415

    return str(vllm.__version__)
