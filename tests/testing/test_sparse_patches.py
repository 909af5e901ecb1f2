"""What each release has of sparse weight patches."""

from __future__ import annotations

import pytest

from policy.input_error import InputError
from runnerctl.testing import ForwardRefused, sparse_patches_in
from runnerctl.testing.patches import apply_sparse_weight_patches


@pytest.mark.parametrize(
    ("release", "status", "words"),
    [
        ("0.11.0", "never", "it came with 0.23.0"),
        ("0.22.1", "never", "it came with 0.23.0"),
        ("0.23.0rc1", "native", "in V1, and lends it to V2"),
        ("0.23.0+cu129", "native", "in V1, and lends it to V2"),
        ("0.24.0", "native", "in V1, and lends it to V2"),
        ("0.25.0", "gone", "WeightTransferConfig(backend='sparse_nccl')"),
        ("0.33.0", "gone", "WeightTransferConfig(backend='sparse_nccl')"),
    ],
)
def test_the_releases(release: str, status: str, words: str) -> None:
    found = sparse_patches_in(release)
    assert found.status == status
    assert words in found.explanation
    assert release in found.explanation


@pytest.mark.parametrize("release", ["0.22.0", "0.28.0"])
def test_a_runner_of_a_release_without_them_says_so(release: str) -> None:
    class Model:
        def named_parameters(self) -> list[object]:
            return []

    class Runner:
        def get_model(self) -> Model:
            return Model()

    with pytest.raises(ForwardRefused, match=f"vLLM {release} has no apply_sparse_weight_patches"):
        apply_sparse_weight_patches(Runner(), [], release=release)


def test_a_release_that_is_none() -> None:
    with pytest.raises(InputError, match="`abc` is not a release"):
        sparse_patches_in("abc")
