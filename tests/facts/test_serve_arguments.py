"""`vllm serve` command lines, read as the releases themselves read them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from policy.document.schema import load_schema
from policy.facts import serve_arguments
from policy.facts.fields import field
from policy.facts.reading import Reading
from policy.facts.serve_arguments import ServeArgumentError, read_serve_arguments

TABLE: dict[str, Any] = json.loads(Path(serve_arguments.__file__).with_suffix(".json").read_text("utf-8"))
RELEASES = ["0.12.0", "0.22.0", "0.28.0", "0.30.0", "0.33.0"]


def no_file(path: str) -> str:
    raise FileNotFoundError(2, "no such file", path)


def read(*arguments: str, release: str = "0.28.0", files: dict[str, str] | None = None) -> Reading:
    return read_serve_arguments(arguments, release, (files or {}).__getitem__ if files else no_file)


def facts(*arguments: str, release: str = "0.28.0", files: dict[str, str] | None = None) -> dict[str, Any]:
    return read(*arguments, release=release, files=files).facts


SET = [
    # numbers, in every way that the parser takes them
    (["--tensor-parallel-size", "4"], {"parallel_config": {"tensor_parallel_size": 4}}),
    (["--tensor-parallel-size=4"], {"parallel_config": {"tensor_parallel_size": 4}}),
    (["--tensor_parallel_size", "4"], {"parallel_config": {"tensor_parallel_size": 4}}),
    (["--tensor-par", "4"], {"parallel_config": {"tensor_parallel_size": 4}}),
    (
        ["-tp", "4", "-pp=2", "-dcp", "2"],
        {
            "parallel_config": {
                "tensor_parallel_size": 4,
                "pipeline_parallel_size": 2,
                "decode_context_parallel_size": 2,
            }
        },
    ),
    (["-tp", "2", "-tp", "8"], {"parallel_config": {"tensor_parallel_size": 8}}),
    (["--max-model-len", "1k"], {"model_config": {"max_model_len": 1000}}),
    (["--max-model-len", "1.5k"], {"model_config": {"max_model_len": 1500}}),
    (["--max-model-len", "auto"], {}),
    (["--max-num-batched-tokens", "2K"], {"scheduler_config": {"max_num_batched_tokens": 2048}}),
    (["--gpu-memory-utilization", "0.5"], {"cache_config": {"gpu_memory_utilization": 0.5}}),
    # switches
    (["--enforce-eager"], {"model_config": {"enforce_eager": True}}),
    (["--no-async-scheduling"], {"scheduler_config": {"async_scheduling": False}}),
    (["--async-scheduling", "--no-async-scheduling"], {"scheduler_config": {"async_scheduling": False}}),
    (
        ["--enable-dbo", "--enable-elastic-ep"],
        {"parallel_config": {"enable_dbo": True, "enable_elastic_ep": True}},
    ),
    (["--kv-sharing-fast-prefill"], {"cache_config": {"kv_sharing_fast_prefill": True}}),
    (["--enable-prompt-embeds"], {"model_config": {"enable_prompt_embeds": True}}),
    (["--mamba-cache-mode", "align"], {"cache_config": {"mamba_cache_mode": "align"}}),
    # the role of the model
    (["--runner", "pooling"], {"model_config": {"runner_type": "pooling"}}),
    (["--runner", "auto"], {}),
    (["--convert", "embed"], {"model_config": {"convert": "embed", "runner_type": "pooling"}}),
    (
        ["--convert", "embed", "--runner", "generate"],
        {"model_config": {"convert": "embed", "runner_type": "generate"}},
    ),
    # text, nothing, lists
    (["-q", "fp8"], {"model_config": {"quantization": "fp8"}}),
    (["-qfp8"], {"model_config": {"quantization": "fp8"}}),
    (["--quantization", "None"], {"model_config": {"quantization": None}}),
    (["--logits-processors", "a.b:C", "d:E"], {"model_config": {"logits_processors": ["a.b:C", "d:E"]}}),
    (["--moe-backend", "Deep-Gemm"], {"kernel_config": {"moe_backend": "deep_gemm"}}),
    (["--attention-backend", "flashinfer"], {"attention_config": {"backend": "FLASHINFER"}}),
    (["--attention-backend", "auto"], {"attention_config": {"backend": None}}),
    (["--served-model-name", "a", "b"], {"model_config": {"served_model_name": "a"}}),
    # the API server's own
    (["--host", "::", "--port", "1", "--api-key", "a", "b", "--disable-log-stats"], {}),
    (["--hf-token", "--seed", "1"], {"model_config": {"hf_token": True, "seed": 1}}),
    # LoRA arguments count only where LoRA is on
    (["--enable-lora"], {"lora_config": {}}),
    (["--enable-lora", "--max-lora-rank", "32"], {"lora_config": {"max_lora_rank": 32}}),
    (["--max-lora-rank", "32"], {}),
    (["--no-enable-lora"], {"lora_config": None}),
    # levels and modes
    (["-O3"], {"optimization_level": "O3"}),
    (["-O", "1"], {"optimization_level": "O1"}),
    (["-O=0"], {"optimization_level": "O0"}),
    (["-cc.mode=3"], {"compilation_config": {"mode": "VLLM_COMPILE"}}),
    (["--compilation-config", '{"mode": 1}'], {"compilation_config": {"mode": "STOCK_TORCH_COMPILE"}}),
    (["-cc.mode", "none"], {"compilation_config": {"mode": "NONE"}}),
    (["-cc", '{"cudagraph_mode": "piecewise"}'], {"compilation_config": {"cudagraph_mode": "PIECEWISE"}}),
    (
        ["--compilation_config.pass_config.enable_sp", "true"],
        {"compilation_config": {"pass_config": {"enable_sp": True}}},
    ),
    (
        ["-cc.custom_ops+", "none,+rms_norm", "-cc.custom_ops+=+silu"],
        {"compilation_config": {"custom_ops": ["none", "+rms_norm", "+silu"]}},
    ),
    # a dotted key replaces the JSON of the same argument: vLLM does not merge the two
    (
        ["--compilation-config", '{"mode": 0}', "--compilation-config.cudagraph_mode", "NONE"],
        {"compilation_config": {"cudagraph_mode": "NONE"}},
    ),
    # config objects
    (["--kv-transfer-config", "None"], {"kv_transfer_config": None}),
    (
        ["--kv-transfer-config", '{"kv_connector": "LMCacheConnectorV1", "kv_port": "7"}'],
        {"kv_transfer_config": {"kv_connector": "LMCacheConnectorV1", "kv_port": 7}},
    ),
    (
        ["--kv-transfer-config", '{"kv_buffer_size": 1k}'],
        {"kv_transfer_config": {"kv_buffer_size": 1000}},
    ),
    (
        ["--reasoning-parser", "qwen3"],
        {
            "structured_outputs_config": {"reasoning_parser": "qwen3"},
            "reasoning_config": {"reasoning_parser": "qwen3"},
        },
    ),
    (
        ["--mm-encoder-only"],
        {"model_config": {"multimodal_config": {"mm_encoder_only": True}}, "is_mm_encoder_only": True},
    ),
    # speculation without a draft model
    (
        ["--speculative-config.method", "ngram", "--speculative-config.num_speculative_tokens", "3"],
        {"speculative_config": {"method": "ngram", "num_speculative_tokens": 3}},
    ),
    (
        ["-sc", '{"method": "suffix", "num-speculative-tokens": 2}'],
        {"speculative_config": {"method": "suffix", "num_speculative_tokens": 2}},
    ),
    (
        ["--spec-method", "ngram", "--spec-tokens", "2"],
        {"speculative_config": {"method": "ngram", "num_speculative_tokens": 2}},
    ),
    (
        ["--speculative-config", '{"model": "ngram"}'],
        {"speculative_config": {"model": "ngram", "method": "ngram"}},
    ),
]


@pytest.mark.parametrize(("arguments", "expected"), SET, ids=lambda value: " ".join(value)[:60])
def test_arguments_set_facts(arguments: list[str], expected: dict[str, Any]) -> None:
    reading = read("org/model", *arguments)
    assert reading.facts == {"model": "org/model", **expected}
    assert not reading.unknown
    assert jsonschema_rs.is_valid(load_schema("facts"), reading.facts)


@pytest.mark.parametrize(
    ("arguments", "model"),
    [
        (["org/model", "-tp", "2"], "org/model"),
        (["-tp", "2", "org/model"], "org/model"),
        (["--enforce-eager", "org/model"], "org/model"),
        (["--model", "org/model", "-tp", "2"], "org/model"),
        (["-tp", "2", "--model=org/model"], "org/model"),
        (["-tp", "2"], "Qwen/Qwen3-0.6B"),
    ],
)
def test_the_model(arguments: list[str], model: str) -> None:
    assert facts(*arguments)["model"] == model


REFUSED = [
    (
        ["--tensor-parallel-sizes", "4"],
        "has no argument `--tensor-parallel-sizes`; did you mean `--tensor-parallel-size`?",
    ),
    (["--watermark-config", "{}"], "vLLM 0.28.0 has no argument `--watermark-config`"),
    (["-tp4"], "has no argument `-tp4`"),
    (["--tensor-parallel-size"], "`--tensor-parallel-size` needs a value"),
    (["--logits-processors"], "`--logits-processors` needs a value"),
    (["--compilation-config.mode"], "`--compilation-config.mode` needs a value"),
    (["--tensor-parallel-size", "four"], "`--tensor-parallel-size` cannot be `four`: it is not an integer"),
    (["--max-model-len", "1" + 400 * "0" + "k"], "it is not an integer or `auto`"),  # no float is so large
    (["--max-model-len", "1.5K"], "`--max-model-len` cannot be `1.5K`"),
    (["--enforce-eager=true"], "`--enforce-eager` takes no value"),
    (["--max-num", "2"], "`--max-num` could be `--max-num-batched-tokens` or "),
    (["--dtype", "nonsense"], "`--dtype` cannot be `nonsense`: it is not one of `auto`, `bfloat16`"),
    (["--speculative-config", "{bad"], "`--speculative-config` cannot be `{bad`: it is not JSON"),
    (["--speculative-config", "[1]"], "`speculative_config` cannot be `[1]`: it is not a JSON object"),
    (["--kv-transfer-config", "[1]"], "`--kv-transfer-config` cannot be `[1]`: it is not a JSON object"),
    (
        ["--kv-transfer-config", '{"kv_conector": "X"}'],
        "has no `kv_conector` in vLLM 0.28.0; did you mean `kv_connector`?",
    ),
    (["-cc.mode", "FASTEST"], "`compilation_config.mode` cannot be `FASTEST`: it is not one of"),
    (["-ac", '{"flash_attn_version": "3"}'], "`attention_config.flash_attn_version` cannot be `3`"),
    (["-O.mode=3"], "`optimization_level` cannot be `.mode=3`"),
    (["--spec-method", "ngram", "-sc.method", "ngram"], "`speculative_config.method` cannot both be given"),
    (["second"], "there is an argument too many: `second`"),
    (["--model", "other"], "there is an argument too many: `org/model`"),
    (["--config", "missing.yaml"], "cannot read `missing.yaml`: no such file"),
    (["--config", "facts.json"], "must end in .yaml or .yml"),
    (["--config"], "`--config` needs a value"),
    (["--config", "a.yaml", "--config", "b.yaml"], "`--config` is given more than once"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=lambda value: str(value)[:50])
def test_refusals(arguments: list[str], message: str) -> None:
    with pytest.raises(ServeArgumentError) as refusal:
        read("org/model", *arguments)
    said = str(refusal.value)
    assert message in said
    assert not said.endswith(".")
    assert said[0] == "`" or said[0].islower()


def test_a_served_name_needs_the_model_first() -> None:
    with pytest.raises(ServeArgumentError, match="needs the model as the first argument"):
        read("--served_model_name=x", "-tp", "2", "org/model")


CONFIG = """
model: org/configured
tensor_parallel_size: 2
enforce-eager: true
enable-prefix-caching: false
cudagraph-capture-sizes: [1, 2]
compilation-config:
  cudagraph_mode: NONE
seed: 7
"""


@pytest.mark.parametrize(
    ("arguments", "model", "seed"),
    [
        (["--config", "c.yaml"], "org/configured", 7),
        (["org/model", "--config", "c.yaml"], "org/model", 7),
        (["org/model", "--config", "c.yaml", "--seed", "9"], "org/model", 9),
        (["--seed", "9", "--config", "c.yaml"], "org/configured", 9),
    ],
)
def test_a_configuration_file(arguments: list[str], model: str, seed: int) -> None:
    assert facts(*arguments, files={"c.yaml": CONFIG}) == {
        "model": model,
        "parallel_config": {"tensor_parallel_size": 2},
        "model_config": {"enforce_eager": True, "seed": seed},
        "compilation_config": {"cudagraph_mode": "NONE", "cudagraph_capture_sizes": [1, 2]},
    }


def test_vllm_reads_no_file_where_an_equals_sign_names_it() -> None:
    assert facts("org/model", "--config=missing.yaml") == {"model": "org/model"}


@pytest.mark.parametrize(
    ("text", "message"), [("seed: [", "not valid YAML"), ("- seed", "not a mapping"), ("seed: 1", "no model")]
)
def test_a_configuration_file_that_cannot_be_used(text: str, message: str) -> None:
    with pytest.raises(ServeArgumentError, match=message):
        facts("--config", "c.yaml", files={"c.yaml": text})


@pytest.mark.parametrize(
    ("config", "method", "unknown"),
    [
        ({"model": "org/draft"}, None, {"method", "draft_model_config", "is_xpress"}),
        ({"model": "org/draft", "method": "draft_model"}, "draft_model", {"draft_model_config"}),
        (
            {"model": "org/EAGLE3-x", "method": "draft_model"},
            None,
            {"method", "draft_model_config", "is_xpress"},
        ),
        ({"model": "org/draft", "method": "eagle3"}, "eagle3", {"draft_model_config"}),
        ({"model": "org/draft", "method": "dflash"}, "dflash", {"draft_model_config", "is_xpress"}),
        ({"method": "deepseek_mtp"}, "mtp", {"draft_model_config"}),
        ({"method": "ngram"}, "ngram", set()),
    ],
)
def test_what_only_the_draft_model_can_tell(
    config: dict[str, str], method: str | None, unknown: set[str]
) -> None:
    reading = read("org/model", "-sc", json.dumps(config))
    assert reading.facts["speculative_config"].get("method") == method
    assert set(reading.unknown) == {f"speculative_config.{name}" for name in unknown}


def test_offloading_the_kv_cache_turns_a_connector_on() -> None:
    reading = read("org/model", "--kv-offloading-size", "4")
    assert reading.facts["kv_transfer_config"] == {"kv_role": "kv_both"}
    assert set(reading.unknown) == {"kv_transfer_config.kv_connector"}


def test_releases_differ() -> None:
    assert facts("m", "--watermark-config", '{"key": 5}', release="0.30.0")["watermark_config"] == {"key": 5}
    assert facts("m", "--disable-prefix-caching", release="0.33.0")["cache_config"] == {
        "enable_prefix_caching": False
    }
    with pytest.raises(ServeArgumentError, match="has no argument"):
        facts("m", "--disable-prefix-caching", release="0.32.0")
    assert "cache_config" not in facts("m", "--mamba-cache-mode", "align", release="0.33.0")
    assert facts("m", "-tp", "2", release="0.34.0.dev7+g1")["parallel_config"] == {"tensor_parallel_size": 2}
    with pytest.raises(ServeArgumentError, match="`latest` is not a release"):
        facts("m", release="latest")


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_has_a_parser(release: str) -> None:
    assert facts("m", "-tp", "2", release=release)["parallel_config"] == {"tensor_parallel_size": 2}


def table_paths() -> Iterator[str]:
    yield from {entry["path"] for entry in TABLE["arguments"] if "path" in entry}
    yield from TABLE["numbered"]


@pytest.mark.parametrize("path", sorted(table_paths()))
def test_the_schema_has_every_path_of_the_table(path: str) -> None:
    assert field(path) is not None
    node = load_schema("facts")
    for step in path.split("."):
        node = node["properties"][step]
