"""Two runners like vLLM's: what V1's methods touch is there under V2, is another thing, or is missing."""

from __future__ import annotations

import time
from typing import Any


class Model:
    def __init__(self) -> None:
        self.loaded: list[object] = []


class Loader:
    def load_model(self) -> Model:
        return Model()


class Config:
    def __init__(self) -> None:
        self.model_config = {"name": "tiny"}
        self.load_config = {"format": "dummy"}


class Shared:
    def shared(self, x: int) -> int:
        return x + 1


class V1(Shared):
    LIMIT = 4
    OTHER = 5

    def __init__(self, vllm_config: Config, device: str, model_loader: Loader) -> None:
        self.vllm_config = vllm_config
        self.model_config = vllm_config.model_config
        self.load_config = vllm_config.load_config
        self.device = device
        self.model = model_loader.load_model()
        self.input_batch = [1]
        self.requests: dict[str, int] = {}
        self.loader = Loader()
        self.counter = 0
        self.only_v1 = 1
        self.is_tiny = self.model_config["name"] == "tiny"

    def get_model(self) -> Model:
        return self.model

    @property
    def name(self) -> str:
        return "v1"

    @staticmethod
    def plain(x: int) -> int:
        return x

    def helper(self, x: int) -> tuple[object, int]:
        return self.get_model(), self._inner(x)

    def _inner(self, x: int) -> int:
        return self.shared(x) + self.plain(1)

    def bad_helper(self) -> int:
        return self.only_v1

    def differs(self, x: int) -> int:
        return x

    # What is asked about.
    def uses_model(self, patch: object) -> Model:
        model = self.get_model()
        model.loaded.append(patch)
        return model

    def uses_configs(self) -> tuple[object, ...]:
        assert self.is_tiny
        return self.load_config, self.model_config, self.device, self.LIMIT

    def through_helpers(self, x: int) -> tuple[object, int]:
        return self.helper(x)

    def through_a_bad_helper(self) -> int:
        return self.bad_helper()

    def reads_missing(self) -> int:
        return self.only_v1

    def reads_with_a_default(self) -> object:
        return getattr(self, "only_v1", None)

    def reads_another_type(self) -> object:
        return self.input_batch

    def reads_the_same_type(self) -> object:
        return self.loader

    def reads_what_begins_alike(self) -> object:
        return self.requests

    def reads_another_constant(self) -> int:
        return self.OTHER

    def reads_another_property(self) -> str:
        return self.name

    def calls_another_signature(self) -> int:
        return self.differs(1)

    def writes_model(self) -> None:
        self.model = self.get_model()

    def writes_missing(self) -> None:
        self.only_v1 += 1

    def writes_another(self) -> None:
        self.counter += 1

    def by_name(self, names: list[str]) -> None:
        for name in names:
            setattr(self, name, getattr(self, name))

    def hands_itself_on(self) -> int:
        return len([self])

    def calls_super(self) -> int:
        return super().shared(1)

    def inside_a_function(self) -> list[object]:
        def later() -> object:
            return self.only_v1

        return [later()]

    unreadable = time.sleep


class V2(Shared):
    LIMIT = 4
    OTHER = 6

    def __init__(self, vllm_config: Config, device: str, model_loader: Loader) -> None:
        self.vllm_config = vllm_config
        self.model_config = vllm_config.model_config
        self.load_config = self._config().load_config
        self.device = device
        self.model = model_loader.load_model()
        self.input_batch = {1: 1}
        self.requests: dict[str, int] = {}
        self.loader = model_loader
        self.counter = [0]
        model_config = vllm_config.model_config
        self.is_tiny = model_config["name"] == "tiny"

    def _config(self) -> Config:
        return self.vllm_config

    def get_model(self) -> Model:
        return self.model

    @property
    def name(self) -> int:
        return 2

    def differs(self, x: int, y: int) -> int:
        return x + y

    def own(self) -> str:
        return "v2"

    def lent(self, *args: Any) -> Any:
        return V1.lent(self, *args)  # type: ignore[attr-defined]


def lent(self: Any, x: int) -> tuple[object, int]:
    return self.get_model(), x


V1.lent = lent  # type: ignore[attr-defined]


def v2() -> V2:
    return V2(Config(), "cpu", Loader())
