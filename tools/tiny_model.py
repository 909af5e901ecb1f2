"""Writes a tiny Llama with a word-level tokenizer and no weights: enough for a real engine with dummy weights.

    python tools/tiny_model.py FOLDER [ARCHITECTURE]

Needs nothing but Python: `tokenizer.json` is the format of the `tokenizers` library, written out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

VOCABULARY = 256
# What the folder is served with: small enough for two cores, and no weights to load.
SERVE_ARGUMENTS = (
    *("--load-format", "dummy", "--dtype", "float32"),
    *("--max-model-len", "128", "--enforce-eager"),
)


def write_model(folder: Path, architecture: str = "LlamaForCausalLM") -> None:
    """Write config.json, tokenizer.json and tokenizer_config.json into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    words = ["<unk>", "<s>", "</s>", *(f"w{i}" for i in range(3, VOCABULARY))]
    config = {
        "architectures": [architecture],
        "model_type": {"MistralForCausalLM": "mistral"}.get(architecture, "llama"),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 128,
        "vocab_size": VOCABULARY,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "torch_dtype": "float32",
    }
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {w: i for i, w in enumerate(words)}, "unk_token": "<unk>"},
    }
    tokenizer_config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "model_max_length": 128,
    }
    for name, content in (
        ("config.json", config),
        ("tokenizer.json", tokenizer),
        ("tokenizer_config.json", tokenizer_config),
    ):
        (folder / name).write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    write_model(Path(sys.argv[1]), *sys.argv[2:3])
