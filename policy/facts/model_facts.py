"""What vLLM derives from a model's `config.json`, as facts.

Follows `ModelConfig` and `ModelArchConfigConvertorBase` of vLLM 0.22 to 0.33, and the registry's classes through
the table in `policy/engine/names/`. vLLM looks at configuration *objects*, whose classes fill in what the file
leaves out; where the model's code shows that such a value may exist, the fact is unknown, not false.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packaging.version import InvalidVersion, Version

from policy.facts.reading import Reading

__all__ = ["CLASS_FACTS", "KEPT", "MODEL_FACTS", "architectures_of", "layer_types_gap", "read_model_config"]

Config = Mapping[str, Any]
Architectures = Mapping[str, Mapping[str, Any]]

# Facts that the model's class decides, and their keys in the architecture table.
CLASS_FACTS = {
    "is_hybrid": "is_hybrid",
    "has_inner_state": "has_inner_state",
    "is_attention_free": "is_attention_free",
    "is_multimodal_model": "is_multimodal",
}
# Everything that `read_model_config` can say of a model.
MODEL_FACTS = (
    "architectures", "is_moe", "is_quantized", *CLASS_FACTS, "is_encoder_decoder", "use_mla", "is_diffusion",
    "runner_type",
)  # fmt: skip
# In vLLM's order: the first that is there counts, whatever it holds.
EXPERT_KEYS = ("num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts")
# Where a multimodal configuration keeps that of its language model.
TEXT_CONFIGS = ("text_config", "llm_config", "language_config", "decoder", "generator", "text_encoder")
# `model_type`s that are served with MLA; those of all releases: a release lists the types that it serves.
MLA_TYPES = {
    "AXK1", "axk1", "bailing_hybrid", "bailing_hybrid_mtp", "bailing_hybrid_v3_mtp", "deepseek_mtp",
    "deepseek_v2", "deepseek_v3", "deepseek_v32", "deepseek_v4", "deepseek_v41", "dots3_note",
    "glm4_moe_lite", "glm4_moe_lite_mtp", "glm5_next", "glm5_next_text", "glm_moe_dsa", "hy_v4",
    "hy_v4_mtp", "k3_dspark", "kimi_k2", "kimi_linear", "longcat_flash", "longcat_flash_ngram",
    "pangu_ultra_moe", "pangu_ultra_moe_mtp",
}  # fmt: skip
# Endings of architecture names: the runner and the conversion that vLLM takes for them, in its order.
ENDINGS = (
    ("ForCausalLM", "generate"), ("ForConditionalGeneration", "generate"), ("ChatModel", "generate"),
    ("LMHeadModel", "generate"), ("ForTextEncoding", "pooling"), ("EmbeddingModel", "pooling"),
    ("ForSequenceClassification", "pooling"), ("ForTokenClassification", "pooling"),
    ("ForAudioClassification", "pooling"), ("ForImageClassification", "pooling"),
    ("ForVideoClassification", "pooling"), ("ClassificationModel", "pooling"), ("ForRewardModeling", "pooling"),
    ("RewardModel", "pooling"), ("Model", "pooling"),
)  # fmt: skip
# What Transformers leaves as it is in `layer_types`; it has renamed others (`mamba` to `linear_attention`).
STABLE_LAYER_TYPES = {"full_attention", "sliding_attention", "chunked_attention", "linear_attention"}
KEPT = ("layer_types", "model_type", "num_hidden_layers")


class _Unknown(Exception):  # noqa: N818 - not an error: a fact that cannot be told, with the reason
    pass


@dataclass
class _Model:
    """One configuration with all that decides what it means."""

    config: Config
    table: Architectures | None
    release: Version | None
    architectures: Sequence[str]
    text: Config

    def since(self, release: str) -> bool | None:
        return None if self.release is None else self.release >= Version(release)

    def entry(self) -> Mapping[str, Any]:
        """The registered class that serves the model. Raises `_Unknown` where that cannot be told."""
        if self.table is None:
            raise _Unknown("there is no list of this release's architectures")
        if not self.architectures:
            raise _Unknown("config.json names no architecture")
        registered = [name for name in self.architectures if name in self.table]
        if registered:
            return self.table[registered[0]]
        name = self.architectures[0]
        ending = next(((end, runner) for end, runner in ENDINGS if name.endswith(end)), None)
        if ending and ending[1] == "pooling":  # vLLM converts the generating model of the same name
            for other, _ in ENDINGS:
                converted = name.removesuffix(ending[0]) + other
                if converted in self.table:
                    return {**self.table[converted], "converted": True}
        raise _Unknown(f"`{name}` is not among vLLM's architectures: a plugin or Transformers serves it")


def read_model_config(
    config: Config,
    architectures: Architectures | None,
    *,
    hf_overrides: Config | None = None,
    quantization: str | None = None,
    runner: str | None = None,
    convert: str | None = None,
    has_sentence_transformers: bool | None = None,
    has_hf_quant_config: bool | None = None,
    mla_disabled: bool = False,
    release: str | None = None,
) -> Reading:
    """The `model_config.*` facts of a parsed `config.json`.

    `architectures` is the release's table (`policy/engine/names/<release>.json`), None where there is none.
    `hf_overrides`, `quantization`, `runner` and `convert` are vLLM's arguments; the two `has_` flags come from
    `ConfigLocation`; `mla_disabled` is VLLM_MLA_DISABLE. Without `release`, what releases answer differently is
    unknown. Raises nothing for odd values: what they leave open is in `Reading.unknown`.
    """
    merged = _overridden(config, hf_overrides or {})
    if "speculators_config" in merged:
        reason = (
            "config.json is a draft in speculators format: vLLM serves the model that it names as verifier"
        )
        return Reading({}, {f"model_config.{name}": reason for name in MODEL_FACTS})
    model = _Model(merged, architectures, _version(release), architectures_of(merged), _text_config(merged))
    checks = {
        "architectures": lambda: _named(model),
        "is_moe": lambda: _is_moe(model),
        "is_quantized": lambda: _is_quantized(model, has_hf_quant_config),
        **{name: _class_fact(model, name) for name in CLASS_FACTS},
        "is_encoder_decoder": lambda: _is_encoder_decoder(model),
        "use_mla": lambda: not mla_disabled and _use_mla(model),
        "is_diffusion": lambda: _is_diffusion(model),
        "runner_type": lambda: _runner_type(model, runner, convert, has_sentence_transformers),
    }
    facts: dict[str, Any] = {"hf_config": {key: merged[key] for key in KEPT if key in merged}}
    if quantization is not None:
        facts["quantization"] = quantization
    unknown: dict[str, str] = {}
    for name, check in checks.items():
        try:
            facts[name] = check()
        except _Unknown as why:
            unknown[f"model_config.{name}"] = str(why)
    if gap := layer_types_gap(merged):
        unknown["model_config.hf_config.layer_types"] = gap
        facts["hf_config"].pop("layer_types", None)
    return Reading({"model_config": facts}, unknown)


def _version(release: str | None) -> Version | None:
    try:
        return None if release is None else Version(Version(release).base_version)
    except InvalidVersion:
        return None


def _overridden(config: Config, overrides: Config) -> dict[str, Any]:
    """vLLM applies a mapping in `--hf-overrides` inside the object it names, anything else instead of it."""
    merged = dict(config)
    for key, value in overrides.items():
        below = merged.get(key)
        nested = isinstance(value, Mapping) and isinstance(below, Mapping)
        merged[key] = _overridden(below, value) if nested else value  # type: ignore[arg-type]
    return merged


def architectures_of(config: Config) -> list[str]:
    """The names in `architectures`, none where it is left out or is no list."""
    given = config.get("architectures")
    return [name for name in given if isinstance(name, str)] if isinstance(given, list) else []


def _text_config(config: Config) -> Config:
    """The part that vLLM calls `hf_text_config`: that of the language model, or the whole."""
    for holder in (config, config.get("thinker_config")):
        if isinstance(holder, Mapping):
            for name in TEXT_CONFIGS:
                below = holder.get(name)
                if isinstance(below, Mapping):
                    return below
    return config


def _named(model: _Model) -> list[str]:
    if not model.architectures:
        raise _Unknown(
            "config.json names no architecture, so vLLM takes the one that Transformers has for it"
        )
    return list(model.architectures)


def _class_fact(model: _Model, name: str) -> Any:
    def check() -> bool:
        if not model.entry().get(CLASS_FACTS[name], False):
            return False
        return name != "is_hybrid" or _has_other_layers(model)

    return check


def _has_other_layers(model: _Model) -> bool:
    """A hybrid class whose `layer_types` lists only attention is not hybrid.

    vLLM 0.29 added a second name for it, `full_attention`, which newer Transformers put in place of `attention`:
    before, a model whose file says `attention` is hybrid under a new Transformers and not under an old one.
    """
    layers = model.config.get("layer_types")
    if not isinstance(layers, list) or not set(layers) <= {"attention", "full_attention"}:
        return True
    since = model.since("0.29.0")
    if since is None or (not since and "full_attention" not in layers):
        raise _Unknown(
            "whether attention layers alone make a hybrid model depends on vLLM and on Transformers"
        )
    return not since


def _is_moe(model: _Model) -> bool:
    for key in EXPERT_KEYS:
        if key in model.text:
            count = model.text[key]
            if isinstance(count, list):
                count = count[0] if count else 0
            elif not count:
                break
            if not isinstance(count, int):
                raise _Unknown(f"`{key}` in config.json is not a number")
            return count > 0
    blocks = model.text.get("block_configs")
    if isinstance(blocks, list) and any(_is_moe_block(block) for block in blocks):
        return True
    if not any(key in model.text for key in EXPERT_KEYS) and _may_default(model, "reads_experts"):
        raise _Unknown(
            "config.json gives no number of experts, and the model's class may have some by default"
        )
    return False


def _is_moe_block(block: Any) -> bool:
    return (
        isinstance(block, dict) and block.get("block_type") == "moe" and bool(block.get("n_routed_experts"))
    )


def _may_default(model: _Model, mark: str) -> bool:
    """Whether the code that serves the model reads something that config.json leaves out."""
    entry = model.entry()
    if entry.get(mark):
        return True
    if not entry.get("builds_registered_model"):
        return False
    served = list(_language_models(model))
    return not served or any(one.get(mark) for one in served)


def _language_models(model: _Model) -> Iterator[Mapping[str, Any]]:
    """The registered classes that may serve the language model inside a multimodal one."""
    named = architectures_of(model.text) if model.text is not model.config else []
    kind = str(model.text.get("model_type", "")).removesuffix("_text")
    for name, entry in (model.table or {}).items():
        if name in named or (not named and kind and _serves_type(entry, kind)):
            yield entry


def _serves_type(entry: Mapping[str, Any], model_type: str) -> bool:
    module = str(entry.get("class", "")).partition(":")[0]
    return module == model_type and entry.get("category") == "text_generation"


def _is_quantized(model: _Model, has_hf_quant_config: bool | None) -> bool:
    """Only what the checkpoint says: `--quantization` alone does not count in any release."""
    if model.config.get("quantization_config") is not None or has_hf_quant_config:
        return True
    text = model.config.get("text_config")
    nested = text if isinstance(text, Mapping) else {}
    other = (
        model.config.get("compression_config"),
        nested.get("quantization_config"),
        nested.get("compression_config"),
    )
    if any(value is not None for value in other):
        since = model.since("0.33.0")
        if since is None:
            raise _Unknown(
                "only releases from 0.33.0 on count `compression_config` and nested configurations"
            )
        if since:
            return True
    if has_hf_quant_config is None:
        raise _Unknown("the model may have a `hf_quant_config.json`, which has not been looked for")
    return False


def _is_encoder_decoder(model: _Model) -> bool:
    holders = (model.config, model.text)
    if any(holder.get("is_encoder_decoder") for holder in holders):
        return True
    if not any("is_encoder_decoder" in holder for holder in holders) and model.entry().get(
        "reads_cross_attention"
    ):
        raise _Unknown("config.json leaves out `is_encoder_decoder`, and the model's class may set it")
    return False


def _use_mla(model: _Model) -> bool:
    text = model.text
    kind = text.get("model_type")
    if kind not in MLA_TYPES:
        module = str(model.entry().get("class", "")).partition(":")[0]
        through_transformers = module == "transformers" and text.get("kv_lora_rank") is not None
        return through_transformers and model.since("0.28.0") is not False
    if text.get("is_causal") is False and model.since("0.29.0") is not False:
        return False
    key = "head_dim" if "compress_ratios" in text or str(kind).startswith("deepseek_v4") else "kv_lora_rank"
    if key not in text:
        raise _Unknown(f"config.json leaves out `{key}`, and the class of `{kind}` may set it")
    return text[key] is not None


def _is_diffusion(model: _Model) -> bool:
    if "canvas_length" in model.config:
        return model.config["canvas_length"] is not None
    if model.entry().get("reads_canvas"):
        raise _Unknown("config.json leaves out `canvas_length`, and the model's class may set it")
    return False


def _runner_type(
    model: _Model, runner: str | None, convert: str | None, has_sentence_transformers: bool | None
) -> str:
    if runner not in {None, "auto"}:
        return str(runner)
    # `--convert` decides since 0.22; earlier releases only looked at the architecture.
    if convert not in {None, "auto", "none"} and model.since("0.22.0") is not False:
        return "pooling"
    if has_sentence_transformers:
        return "pooling"
    entry = model.entry()
    if entry.get("is_pooling") or entry.get("converted"):
        return "pooling"
    if has_sentence_transformers is None:
        raise _Unknown(
            "the model may be laid out for Sentence Transformers: its `modules.json` was not looked for"
        )
    if entry.get("is_text_generation"):
        return "generate"
    name = next(name for name in model.architectures if name in (model.table or {}))
    return next((runner for end, runner in ENDINGS if name.endswith(end)), "generate")


def layer_types_gap(config: Config) -> str | None:
    """Why `hf_config.layer_types` cannot be told; None where config.json gives it as vLLM will see it."""
    given = config.get("layer_types")
    if isinstance(given, list):
        renamed = [name for name in given if name not in STABLE_LAYER_TYPES]
        return f"some versions of Transformers rename the layer type `{renamed[0]}`" if renamed else None
    return "config.json leaves out `layer_types`, and the model's class may compute it"
