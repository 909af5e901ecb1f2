"""`config.json` files and what vLLM derives from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from policy.engine.catalog import Catalog
from policy.facts.model_files import (
    ModelFileError,
    load_config,
    locate_config,
    read_draft_config,
    read_model_config,
)

COMMIT = "0123456789abcdef0123456789abcdef01234567"
POOLING = [{"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}]
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}
FOUND = {"has_sentence_transformers": False, "has_hf_quant_config": False}


def write(folder: Path, name: str = "config.json", data: Any = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(LLAMA if data is None else data))
    return folder / name


def in_cache(cache: Path, revision: str = "main", **files: Any) -> Path:
    """A model `acme/tiny` in a Hugging Face cache."""
    model = cache / "models--acme--tiny"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / revision).write_text(COMMIT)
    for name, data in {"config.json": LLAMA, **files}.items():
        write(model / "snapshots" / COMMIT, name, data)
    return model / "snapshots" / COMMIT


def test_local_folder_tells_everything(tmp_path: Path) -> None:
    config = write(tmp_path)
    found = locate_config(str(tmp_path), revision=None, env={}, online=False)
    assert (found.path, found.has_sentence_transformers, found.has_hf_quant_config) == (config, False, False)
    write(tmp_path, "modules.json", POOLING)
    write(tmp_path, "hf_quant_config.json", {})
    found = locate_config(str(tmp_path), revision=None, env={}, online=False)
    assert (found.has_sentence_transformers, found.has_hf_quant_config) == (True, True)


CACHES = {
    "HF_HUB_CACHE": "{root}",
    "HUGGINGFACE_HUB_CACHE": "{root}",
    "HF_HOME": "{root}/..",
    "XDG_CACHE_HOME": "{root}/../..",
    "HOME": "{root}/../../..",
}


@pytest.mark.parametrize("name", CACHES)
def test_hub_cache(tmp_path: Path, name: str) -> None:
    root = tmp_path / ".cache" / "huggingface" / "hub"
    snapshot = in_cache(root)
    found = locate_config(
        "acme/tiny", revision=None, env={name: CACHES[name].format(root=root)}, online=False
    )
    assert found.path is not None
    assert found.path.resolve() == snapshot / "config.json"


@pytest.mark.parametrize(("revision", "there"), [("v1", True), (COMMIT, True), (None, False), ("v2", False)])
def test_revisions(tmp_path: Path, revision: str | None, there: bool) -> None:
    in_cache(tmp_path, "v1")
    found = locate_config("acme/tiny", revision=revision, env={"HF_HUB_CACHE": str(tmp_path)}, online=False)
    assert (found.path is not None) is there


@pytest.mark.parametrize(
    ("files", "env", "expected"),
    [
        ({}, {}, None),  # the hub may have a file that nobody has asked for
        ({}, {"HF_HUB_OFFLINE": "1"}, False),
        ({"model.safetensors": 0}, {}, False),
        ({"modules.json": POOLING}, {}, True),
    ],
)
def test_what_a_cache_can_tell(
    tmp_path: Path, files: Any, env: dict[str, str], expected: bool | None
) -> None:
    in_cache(tmp_path, **files)
    found = locate_config(
        "acme/tiny", revision=None, env={"HF_HUB_CACHE": str(tmp_path), **env}, online=False
    )
    assert found.has_sentence_transformers is expected


REASONS: dict[str, tuple[str, dict[str, str], str]] = {
    "not asked": ("acme/other", {}, "the hub was not asked"),
    "offline": ("acme/other", {"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE is set"),
    "no hub name": ("/no/such/folder", {}, "no folder `/no/such/folder`"),
    "object storage": ("s3://bucket/model", {}, "object storage"),
    "gguf": ("model.gguf", {}, "GGUF"),
    "modelscope": ("acme/tiny", {"VLLM_USE_MODELSCOPE": "True"}, "ModelScope"),
    "redirect": ("acme/tiny", {"VLLM_MODEL_REDIRECT_PATH": "/r"}, "another model"),
}


@pytest.mark.parametrize("case", REASONS)
def test_not_found_because(tmp_path: Path, case: str) -> None:
    model, env, reason = REASONS[case]
    found = locate_config(model, revision=None, env={"HF_HUB_CACHE": str(tmp_path), **env}, online=False)
    assert found.path is None
    assert reason in (found.reason or "")


def test_unreachable_hub_is_a_reason_and_the_cache_still_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("policy.facts.model_files.DOWNLOAD_LIMIT", 0.5)
    env = {"HF_HUB_CACHE": str(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:9"}
    found = locate_config("acme/tiny", revision=None, env=env, online=True)
    assert (found.path, (found.reason or "")[:34]) == (None, "the hub does not give `acme/tiny`:")
    in_cache(tmp_path / "second")
    env["HF_HUB_CACHE"] = str(tmp_path / "second")
    assert locate_config("acme/tiny", revision=None, env=env, online=True).path is not None


def test_mistral_format_is_not_config_json(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path, "params.json")
    assert locate_config(str(tmp_path), revision=None, env={}, online=False).path is not None
    write(tmp_path, "consolidated.safetensors")
    assert "params.json" in (locate_config(str(tmp_path), revision=None, env={}, online=False).reason or "")


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is not JSON"), ("[]", "no JSON object"), ("[" * 100_000, "is not JSON"), ("\0", "is not JSON")],
)
def test_malformed_config(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ModelFileError, match=message):
        load_config(path)


def test_config_too_large_or_missing(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    with pytest.raises(ModelFileError, match="cannot read"):
        load_config(path)
    with path.open("wb") as file:
        file.truncate(10_000_001)
    with pytest.raises(ModelFileError, match="larger than 10 MB"):
        load_config(path)


def names(release: str) -> Any:
    found = Catalog().names(release)
    assert found is not None
    return found["architectures"]


def model_facts(config: Any, given: dict[str, Any]) -> tuple[dict[str, Any], set[str]]:
    release = given.get("release", "0.28.0")
    reading = read_model_config(config, names(release or "0.28.0"), **{**FOUND, **given, "release": release})
    return reading.facts["model_config"], {path.removeprefix("model_config.") for path in reading.unknown}


def arch(name: str, **config: Any) -> dict[str, Any]:
    return {"architectures": [name], **config}


MIXTRAL = "MixtralForCausalLM"
DEEPSEEK = arch("DeepseekV3ForCausalLM", model_type="deepseek_v3", n_routed_experts=8, kv_lora_rank=32)
GRANITE = arch("GraniteMoeHybridForCausalLM", num_local_experts=0)
LLAVA = arch("LlavaForConditionalGeneration", text_config={"model_type": "llama"})
NESTED = {"text_config": {"num_local_experts": 4, "quantization_config": {"quant_method": "fp8"}}}
UNREGISTERED = {"is_moe", "is_hybrid", "has_inner_state", "is_attention_free", "is_multimodal_model"} | {
    "is_encoder_decoder",
    "use_mla",
    "is_diffusion",
    "runner_type",
}

# Files like these were given to `ModelConfig` of vLLM 0.28.0 and 0.32.0: what is not unknown here agreed.
CASES: dict[str, tuple[Any, dict[str, Any], dict[str, Any], set[str]]] = {
    "dense": (LLAMA, {}, {"is_moe": False, "is_quantized": False, "runner_type": "generate"}, set()),
    "quantized": ({**LLAMA, "quantization_config": {}}, {}, {"is_quantized": True}, set()),
    "--quantization alone": (LLAMA, {"quantization": "fp8"}, {"is_quantized": False, "quantization": "fp8"}, set()),
    "modelopt's own file": (LLAMA, {"has_hf_quant_config": True}, {"is_quantized": True}, set()),
    "own file not looked for": (LLAMA, {"has_hf_quant_config": None}, {}, {"is_quantized"}),
    "compression_config": ({**LLAMA, "compression_config": {}}, {}, {"is_quantized": False}, set()),
    "same, 0.33": ({**LLAMA, "compression_config": {}}, {"release": "0.33.0"}, {"is_quantized": True}, set()),
    "same, no release": ({**LLAMA, "compression_config": {}}, {"release": None}, {}, {"is_quantized"}),
    "experts": (arch(MIXTRAL, num_local_experts=8), {}, {"is_moe": True}, set()),
    "experts by default": (arch(MIXTRAL), {}, {}, {"is_moe"}),
    "no experts, said": (arch(MIXTRAL, num_local_experts=None), {}, {"is_moe": False}, set()),
    "first key counts": (arch(MIXTRAL, num_experts=0, num_local_experts=8), {}, {"is_moe": False}, set()),
    "list of experts": (arch(MIXTRAL, moe_num_experts=[64, 64]), {}, {"is_moe": True}, set()),
    "experts that are no number": (arch(MIXTRAL, num_experts="many"), {}, {}, {"is_moe"}),
    "experts in blocks": (
        {**LLAMA, "block_configs": [{"block_type": "moe", "n_routed_experts": 4}]}, {}, {"is_moe": True}, set(),
    ),
    "experts overridden": (LLAMA, {"hf_overrides": {"num_experts": 4}}, {"is_moe": True}, set()),
    "nested": ({**LLAVA, **NESTED}, {}, {"is_moe": True, "is_quantized": False}, set()),
    "nested, 0.33": ({**LLAVA, **NESTED}, {"release": "0.33.0"}, {"is_quantized": True}, set()),
    "multimodal": (LLAVA, {}, {"is_multimodal_model": True, "is_moe": False}, set()),
    "multimodal, text unknown": (arch("LlavaForConditionalGeneration", text_config={}), {}, {}, {"is_moe"}),
    "mla": (DEEPSEEK, {}, {"use_mla": True, "is_moe": True}, set()),
    "mla off": (DEEPSEEK, {"mla_disabled": True}, {"use_mla": False}, set()),
    "mla without a rank": ({**DEEPSEEK, "kv_lora_rank": None}, {}, {"use_mla": False}, set()),
    "mla by default": (arch("DeepseekV3ForCausalLM", model_type="deepseek_v3"), {}, {}, {"use_mla", "is_moe"}),
    "bidirectional": ({**DEEPSEEK, "is_causal": False}, {"release": "0.30.0"}, {"use_mla": False}, set()),
    "bidirectional, 0.28": ({**DEEPSEEK, "is_causal": False}, {}, {"use_mla": True}, set()),
    "hybrid": ({**GRANITE, "layer_types": ["mamba", "attention"]}, {}, {"is_hybrid": True}, set()),
    "attention only": ({**GRANITE, "layer_types": ["attention"]}, {"release": "0.29.0"}, {"is_hybrid": False}, set()),
    "attention only, 0.28": ({**GRANITE, "layer_types": ["attention"]}, {}, {}, {"is_hybrid"}),
    "full attention only": ({**GRANITE, "layer_types": ["full_attention"]}, {}, {"is_hybrid": True}, set()),
    "same, 0.32": (
        {**GRANITE, "layer_types": ["full_attention"]}, {"release": "0.32.0"}, {"is_hybrid": False}, set(),
    ),
    "state": (arch("MambaForCausalLM"), {}, {"has_inner_state": True, "is_attention_free": True}, set()),
    "encoder": (
        arch("WhisperForConditionalGeneration", is_encoder_decoder=True), {}, {"is_encoder_decoder": True}, set(),
    ),
    "encoder by default": (arch("WhisperForConditionalGeneration"), {}, {}, {"is_encoder_decoder"}),
    "diffusion": ({**LLAMA, "canvas_length": 16}, {}, {"is_diffusion": True}, set()),
    "pooling class": (arch("BertModel"), {}, {"runner_type": "pooling"}, set()),
    "converted class": (
        arch("Qwen3ForSequenceClassification"), {}, {"runner_type": "pooling", "is_hybrid": False}, set(),
    ),
    "sentence transformers": (LLAMA, {"has_sentence_transformers": True}, {"runner_type": "pooling"}, set()),
    "modules not looked for": (LLAMA, {"has_sentence_transformers": None}, {}, {"runner_type"}),
    "--runner": (arch("BertModel"), {"runner": "generate"}, {"runner_type": "generate"}, set()),
    "--runner auto": (arch("BertModel"), {"runner": "auto"}, {"runner_type": "pooling"}, set()),
    "--convert": (LLAMA, {"convert": "embed"}, {"runner_type": "pooling"}, set()),
    "--convert, 0.21": (LLAMA, {"convert": "embed", "release": "0.21.0"}, {"runner_type": "generate"}, set()),
    "out of tree": (arch("AcmeForCausalLM"), {}, {"is_quantized": False}, UNREGISTERED),
    "out of tree, --runner": (arch("AcmeForCausalLM"), {"runner": "pooling"}, {}, UNREGISTERED - {"runner_type"}),
    "no architecture": ({"model_type": "llama"}, {}, {}, UNREGISTERED | {"architectures"}),
    "architecture overridden": (
        {"model_type": "llama"}, {"hf_overrides": {"architectures": ["LlamaForCausalLM"]}}, {"is_moe": False}, set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_facts_of_a_config(case: str) -> None:
    config, given, expected, unknown = CASES[case]
    facts, found_unknown = model_facts(config, given)
    assert {key: facts.get(key) for key in expected} == expected
    assert found_unknown - {"hf_config.layer_types"} == unknown


@pytest.mark.parametrize(
    ("layers", "known"), [(["sliding_attention", "full_attention"], True), (["mamba"], False), (None, False)]
)
def test_layer_types_that_transformers_computes_or_renames_are_unknown(layers: Any, known: bool) -> None:
    facts, unknown = model_facts(LLAMA if layers is None else {**LLAMA, "layer_types": layers}, {})
    assert facts["hf_config"].get("layer_types") == (layers if known else None)
    assert ("hf_config.layer_types" in unknown) is not known


def test_without_a_table_the_class_is_unknown() -> None:
    reading = read_model_config({**LLAMA, "num_experts": 4}, None, **FOUND)
    assert reading.facts["model_config"]["is_moe"] is True
    assert "model_config.is_hybrid" in reading.unknown
    assert not any(
        value is False for key, value in reading.facts["model_config"].items() if key != "is_quantized"
    )


def test_speculators_checkpoint_is_not_the_model_served() -> None:
    reading = read_model_config({**LLAMA, "speculators_config": {}}, names("0.28.0"), **FOUND)
    assert (reading.facts, "model_config.is_moe" in reading.unknown) == ({}, True)


DRAFTS: dict[str, tuple[Any, str | None, list[str] | None, set[str]]] = {
    "dflash": (arch("DFlashDraftModel", layer_types=["full_attention"]), "dflash", ["DFlashDraftModel"], set()),
    "eagle": (LLAMA, "eagle", ["EagleLlamaForCausalLM"], set()),
    "eagle3": (arch("LlamaForCausalLMEagle3"), "eagle3", ["LlamaForCausalLMEagle3"], set()),
    "draft model": (LLAMA, "draft_model", ["LlamaForCausalLM"], set()),
    "no method": (LLAMA, None, ["LlamaForCausalLM"], set()),
    "mtp": (LLAMA, "mtp", None, {"architectures"}),
    "no architecture": ({}, "dflash", None, {"architectures"}),
    "speculators": (
        {**LLAMA, "speculators_config": {}}, "eagle3", None, {"architectures", "hf_config.layer_types"},
    ),
    "window": ({**LLAMA, "sliding_window": 4}, None, ["LlamaForCausalLM"], {"hf_config.layer_types"}),
}  # fmt: skip


@pytest.mark.parametrize("case", DRAFTS)
def test_draft(case: str) -> None:
    config, method, architectures, unknown = DRAFTS[case]
    reading = read_draft_config(config, method=method)
    path = "speculative_config.draft_model_config."
    assert reading.facts["speculative_config"]["draft_model_config"].get("architectures") == architectures
    assert set(reading.unknown) == {path + name for name in unknown}


def test_every_release_has_its_names() -> None:
    for file in sorted((Catalog().folder / "names").glob("*.json")):
        found = Catalog().names(file.stem)
        assert found is not None
        assert found["release"] == file.stem
        assert "class" in found["architectures"]["LlamaForCausalLM"]
        assert "VLLM_PLUGINS" in found["environment_variables"]
