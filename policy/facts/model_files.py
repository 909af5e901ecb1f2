"""Finds a model's `config.json` the way vLLM would, and reads it.

Where files lie follows Hugging Face's documented cache layout (`models--org--name/refs`, `snapshots/<commit>`),
read directly: `huggingface_hub` takes longer to import than everything else here, and is not always installed.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policy.facts.draft_facts import read_draft_config
from policy.facts.model_facts import read_model_config
from policy.input_error import InputError

__all__ = [
    "ConfigLocation",
    "ModelFileError",
    "hub_cache",
    "load_config",
    "locate_config",
    "read_draft_config",
    "read_model_config",
]

CONFIG = "config.json"
# Kept by ModelOpt before 0.31 in a file of its own, which vLLM takes for `quantization_config`.
QUANTIZATION = "hf_quant_config.json"
# Sentence Transformers lists the parts of its models here.
MODULES = "modules.json"
POOLING_MODULES = (
    "sentence_transformers.models.Pooling",
    "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
)
SIZE_LIMIT = 10_000_000
ETAG_TIMEOUT = 5.0
# For all files together: the client tries again for more than a minute where nothing answers.
DOWNLOAD_LIMIT = 15.0
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
ONES = {"1", "TRUE", "YES", "ON"}


class ModelFileError(InputError):
    """A file of a model that is not what it should be; the message says which and why."""


@dataclass(frozen=True, slots=True)
class ConfigLocation:
    """Where a model's `config.json` is, or in `reason` why it was not found ("`path` is not known: ...").

    The two flags say whether the model is laid out for Sentence Transformers (a `modules.json` with a pooling
    module) and has a `hf_quant_config.json`; None where the files at hand cannot tell.
    """

    path: Path | None
    reason: str | None = None
    has_sentence_transformers: bool | None = None
    has_hf_quant_config: bool | None = None


def locate_config(
    model: str, *, revision: str | None, env: Mapping[str, str], online: bool
) -> ConfigLocation:
    """Find `config.json` for `model` as it is given to vLLM: a folder, or a name on Hugging Face's hub.

    `env` is the environment that the engine will have: it says where the cache is and whether the hub may be
    asked. With `online`, and where `huggingface_hub` is installed, what the cache lacks is downloaded into it.
    Nothing is raised: what cannot be found comes back with a reason. Raises `ModelFileError` only for a
    `modules.json` that is not JSON.
    """
    if reason := _elsewhere(model, env):
        return ConfigLocation(None, reason)
    folder = Path(model).expanduser()
    if folder.is_dir():
        return _in_folder(folder, complete=True)
    offline = _is_on(env.get("HF_HUB_OFFLINE")) or _is_on(env.get("TRANSFORMERS_OFFLINE"))
    snapshot = _snapshot(model, revision or "main", hub_cache(env))
    cached: ConfigLocation | None = None
    if snapshot is not None and (snapshot / CONFIG).is_file():
        # Once vLLM has loaded a model, every small file that it reads lies next to the weights; and where the
        # engine may not ask the hub, a file that only the hub has counts for nothing.
        complete = offline or _has_weights(snapshot)
        cached = _in_folder(snapshot, complete=complete)
        if complete or not online:
            return cached
    if not HUB_NAME.fullmatch(model):
        return ConfigLocation(None, f"there is no folder `{model}`, and it cannot be a name on the hub")
    if offline or not online:
        asked = "HF_HUB_OFFLINE is set" if offline else "the hub was not asked"
        return ConfigLocation(
            None, f"`{model}` is neither a folder nor in the Hugging Face cache, and {asked}"
        )
    found = _download(model, revision, env)
    return cached if found.path is None and cached is not None else found


def hub_cache(env: Mapping[str, str]) -> Path:
    """The folder that `huggingface_hub` keeps models in, under an environment."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if env.get(name):
            return Path(env[name]).expanduser()
    if env.get("HF_HOME"):
        return Path(env["HF_HOME"]).expanduser() / "hub"
    home = env.get("HOME") or str(Path.home())
    cache = env.get("XDG_CACHE_HOME") or str(Path(home) / ".cache")
    return Path(cache).expanduser() / "huggingface" / "hub"


def load_config(path: Path) -> dict[str, Any]:
    """The parsed `config.json`. Raises `ModelFileError` when it is too large, not JSON, or not an object."""
    found = _load(path)
    if not isinstance(found, dict):
        raise ModelFileError(f"`{path}` holds no JSON object")
    return found


def _load(path: Path) -> Any:
    try:
        if path.stat().st_size > SIZE_LIMIT:
            raise ModelFileError(
                f"`{path}` is larger than {SIZE_LIMIT // 1_000_000} MB, so it is no {path.name}"
            )
        return json.loads(path.read_bytes())
    except OSError as error:
        raise ModelFileError(f"cannot read `{path}`: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"`{path}` is not JSON: {error}") from error


def _elsewhere(model: str, env: Mapping[str, str]) -> str | None:
    """Why vLLM would take the configuration from somewhere that is not looked at here."""
    if "://" in model:
        return f"`{model}` is in object storage, which is not read"
    if _is_on(env.get("VLLM_USE_MODELSCOPE")):
        return "VLLM_USE_MODELSCOPE is set, and ModelScope is not read"
    if env.get("VLLM_MODEL_REDIRECT_PATH"):
        return "VLLM_MODEL_REDIRECT_PATH is set, so vLLM may load another model"
    if model.endswith(".gguf"):
        return f"`{model}` is a GGUF file, which has no config.json"
    return None


def _is_on(value: str | None) -> bool:
    return (value or "").upper() in ONES


def _in_folder(folder: Path, *, complete: bool) -> ConfigLocation:
    """The location inside a folder; `complete` when a file that is missing there is missing in the model."""
    if (folder / "params.json").is_file() and any(folder.glob("consolidated*.safetensors")):
        return ConfigLocation(
            None, "vLLM reads Mistral's `params.json` of this model, which is not read here"
        )
    if not (folder / CONFIG).is_file():
        return ConfigLocation(None, f"`{folder}` has no config.json")
    modules = (folder / MODULES).is_file()
    quantization = (folder / QUANTIZATION).is_file()
    return ConfigLocation(
        folder / CONFIG,
        None,
        _has_pooling_module(folder / MODULES) if modules else False if complete else None,
        True if quantization else False if complete else None,
    )


def _has_pooling_module(path: Path) -> bool:
    modules = _load(path)
    parts = modules if isinstance(modules, list) else []
    return any(isinstance(part, dict) and part.get("type") in POOLING_MODULES for part in parts)


def _has_weights(snapshot: Path) -> bool:
    return any(True for pattern in ("*.safetensors", "*.bin", "*.pt") for _ in snapshot.glob(pattern))


def _snapshot(model: str, revision: str, cache: Path) -> Path | None:
    """The cached snapshot of a revision: `refs` names the commit of a branch or tag, a commit names itself."""
    if not HUB_NAME.fullmatch(model):
        return None
    folder = cache / f"models--{model.replace('/', '--')}"
    ref = folder / "refs" / revision
    try:
        commit = ref.read_text("utf-8").strip() if ref.is_file() else revision
    except OSError:
        return None
    snapshot = folder / "snapshots" / commit
    return snapshot if commit and snapshot.is_dir() else None


def _download(model: str, revision: str | None, env: Mapping[str, str]) -> ConfigLocation:
    try:
        hub = importlib.import_module("huggingface_hub")
        missing: type[Exception] = importlib.import_module("huggingface_hub.errors").EntryNotFoundError
    except (ImportError, AttributeError):
        return ConfigLocation(None, f"`{model}` is not in the cache, and huggingface_hub is not installed")
    options = {
        "revision": revision,
        "cache_dir": hub_cache(env),
        "token": env.get("HF_TOKEN") or None,
        "endpoint": env.get("HF_ENDPOINT") or None,
        "etag_timeout": ETAG_TIMEOUT,
    }

    # Its every retry is a warning; what matters is in the reason.
    importlib.import_module("huggingface_hub.utils.logging").set_verbosity_error()

    def fetch_all() -> ConfigLocation:
        config = Path(hub.hf_hub_download(model, CONFIG, **options))
        for name in (MODULES, QUANTIZATION):
            with contextlib.suppress(missing):  # most models have neither
                hub.hf_hub_download(model, name, **options)
        return _in_folder(config.parent, complete=True)

    found: list[ConfigLocation] = []

    def work() -> None:
        try:
            found.append(fetch_all())
        except Exception as error:  # the client's own errors, those of its HTTP library, OSError
            first_line = (str(error).strip().splitlines() or [type(error).__name__])[0]
            found.append(ConfigLocation(None, f"the hub does not give `{model}`: {first_line[:200]}"))

    # A daemon, because the client cannot be stopped while it tries again.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(DOWNLOAD_LIMIT)
    late = f"the hub does not give `{model}`: no answer in {DOWNLOAD_LIMIT:g} seconds"
    return found[0] if found else ConfigLocation(None, late)
