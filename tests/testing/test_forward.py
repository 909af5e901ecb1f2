"""A model's forward under either runner's way of calling it, and failures injected into it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from policy.input_error import InputError
from runnerctl.testing import ForwardAdapter, InjectedFailure, accepts_any_call, fail_at, wrap_forward
from runnerctl.testing.hooks import HookError, hooks_of
from runnerctl.testing.worker import attach


def narrow(input_ids: object, positions: object) -> tuple[object, ...]:
    return input_ids, positions


def pipelined(
    input_ids: object, positions: object, intermediate_tensors: object = None
) -> tuple[object, ...]:
    return input_ids, positions, intermediate_tensors


def rest(input_ids: object, **kwargs: object) -> tuple[object, ...]:
    return input_ids, kwargs


@pytest.mark.parametrize(
    ("forward", "args", "kwargs", "result"),
    [
        (narrow, (1, 2), {}, (1, 2)),
        (narrow, (), {"input_ids": 1, "positions": 2, "intermediate_tensors": None}, (1, 2)),
        (narrow, (1, 2), {"intermediate_tensors": None, "inputs_embeds": None}, (1, 2)),
        (pipelined, (1, 2), {"intermediate_tensors": "t", "inputs_embeds": None}, (1, 2, "t")),
        (pipelined, (1, 2, "t"), {}, (1, 2, "t")),
        (pipelined, (1, 2), {}, (1, 2, None)),
        (rest, (1,), {"intermediate_tensors": None, "inputs_embeds": None}, (1, {"inputs_embeds": None})),
        (rest, (1,), {"intermediate_tensors": "t"}, (1, {"intermediate_tensors": "t"})),
    ],
)
def test_either_runner_may_call(
    forward: Callable[..., Any], args: tuple[object, ...], kwargs: Mapping[str, object], result: object
) -> None:
    assert accepts_any_call(forward)(*args, **kwargs) == result


def test_a_value_that_would_be_lost_is_refused() -> None:
    with pytest.raises(TypeError, match="narrow is given `inputs_embeds`, which it does not take"):
        accepts_any_call(narrow)(1, 2, inputs_embeds="e")


@pytest.mark.parametrize("forward", [narrow, pipelined, rest])
def test_who_asks_for_the_signature_sees_a_pipelined_model(forward: Callable[..., Any]) -> None:
    signature = inspect.signature(accepts_any_call(forward))
    assert signature.parameters["intermediate_tensors"].default is None
    assert list(signature.parameters.values())[-1].kind is inspect.Parameter.VAR_KEYWORD


def test_the_mixin_adapts_a_class_that_names_only_what_it_needs() -> None:
    class Base:
        def forward(self, x: int) -> int:
            return x

    class Ours(ForwardAdapter, Base):
        def forward(self, x: int) -> int:
            return super().forward(x) + 1

    class Inherits(Ours):
        pass

    for model in (Ours(), Inherits()):
        assert model.forward(x=1, intermediate_tensors=None, positions=None) == 2  # type: ignore[call-arg]


class Model:
    def forward(self, x: int) -> int:
        return x + 1


def test_a_wrapped_model_is_one_object_and_can_be_put_back() -> None:
    model, other = Model(), Model()
    seen: list[int] = []
    undo = wrap_forward(model, lambda: seen.append(1))
    undo_inner = wrap_forward(model, lambda: seen.append(2))
    assert (model.forward(1), other.forward(1), seen) == (2, 2, [2, 1])
    undo_inner()
    model.forward(1)
    assert seen == [2, 1, 1]
    undo()
    assert "forward" not in vars(model)
    assert model.forward(x=3) == 4
    assert seen == [2, 1, 1]


class Worker:
    """A worker that profiles, warms up as V2 does, and serves: each time with one forward."""

    def __init__(self, eager: bool = True) -> None:
        graphs = SimpleNamespace(has_full_cudagraphs=lambda: True)
        self.vllm_config = SimpleNamespace(
            model_config=SimpleNamespace(enforce_eager=eager),
            compilation_config=SimpleNamespace(cudagraph_mode=graphs),
        )
        self.model = Model()
        self.model_runner = SimpleNamespace(
            get_model=lambda: self.model, execute_model=lambda _, **__: self.model.forward(1)
        )

    def load_model(self) -> None:
        pass

    def profile(self) -> None:
        self.model_runner.execute_model(call("_dummy_req_0"), dummy_run=True)  # as V2's runner does

    def execute_model(self, scheduler_output: Any) -> Any:
        return self.model_runner.execute_model(scheduler_output)

    def compile_or_warm_up_model(self) -> None:
        self.execute_model(call("_warmup_0_"))


def call(*ids: str) -> SimpleNamespace:
    return SimpleNamespace(num_scheduled_tokens=dict.fromkeys(ids, 1), finished_req_ids=set())


@pytest.mark.parametrize(
    ("n", "counting", "ranks", "rank", "served"),
    [
        (1, "serving", None, 0, 0),
        (3, "serving", None, 0, 2),
        (3, "serving", [0], 0, 2),
        (3, "serving", [1], 0, None),
        (3, "serving", [0, 1], 1, 2),
        (3, "all", None, 0, 0),  # profiling and warming up were the first two
        (5, "all", None, 0, 2),
    ],
)
def test_it_fails_at_the_nth_forward_on_the_ranks_asked_for(
    n: int, counting: Any, ranks: list[int] | None, rank: int, served: int | None
) -> None:
    worker = Worker()
    with fail_at(n, ranks=ranks, counting=counting):
        attach(worker, rank, hooks_of(os.environ))
    worker.load_model()
    worker.profile()
    worker.compile_or_warm_up_model()
    done = 0

    def serve() -> None:
        nonlocal done
        for _ in range(10):
            worker.execute_model(call("r1"))
            done += 1

    if served is None:
        serve()
        return
    with pytest.raises(InjectedFailure) as caught:
        serve()
    assert str(caught.value) == f"injected failure at forward {n} on rank {rank} (runnerctl.testing)"
    assert done == served
    assert worker.execute_model(call("r1")) == 2  # once, as an accident would


def test_graphs_are_refused_where_a_failure_would_never_come() -> None:
    worker = Worker(eager=False)
    with fail_at(1):
        attach(worker, 0, hooks_of(os.environ))
    with pytest.raises(HookError, match="start the engine with enforce_eager=True"):
        worker.load_model()


@pytest.mark.parametrize(
    ("n", "ranks", "message"),
    [
        (0, None, "forward 0: they are counted from 1"),
        (2.5, None, "forward 2.5: they are counted from 1"),
        (1, [], "give at least one"),
        (1, [-1], "counted from 0"),
    ],
)
def test_what_can_never_happen_is_refused(n: Any, ranks: list[int] | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fail_at(n, ranks=ranks)


def test_a_way_of_counting_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="counting `everything`: one of serving, all"):
        fail_at(1, counting="everything")  # type: ignore[arg-type]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_each_undo_takes_off_its_own_hook_in_any_order(order: tuple[int, int]) -> None:
    class Plain:
        def forward(self, x: int) -> int:
            return x

    model, seen = Plain(), []
    undo = [wrap_forward(model, lambda: seen.append(0)), wrap_forward(model, lambda: seen.append(1))]
    undo[order[0]]()
    model.forward(5)
    assert seen == [order[1]]
    undo[order[1]]()
    assert model.forward(6) == 6
    assert seen == [order[1]]
