"""Make a tiny model with random weights: `python3 make_weights.py --kind dense --target FOLDER --repo R --commit C`.

It runs on the host and needs Python's standard library only. The bytes depend on nothing but the arguments and this
text: no random generator whose numbers differ between libraries or processors, so that all hosts hold one model.
The folder is complete when `.bringup-manifest.json` is there, which is written last.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MANIFEST = ".bringup-manifest.json"
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
VOCABULARY = 256 + len(SPECIAL)
HIDDEN, LAYERS, HEADS, KV_HEADS, HEAD_SIZE = 64, 2, 4, 2, 32  # vLLM on CPU refuses heads below 32
INTERMEDIATE, EXPERTS, EXPERT_INTERMEDIATE = 128, 8, 32
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

Shapes = dict[str, tuple[int, ...]]


def config(kind: str) -> dict[str, Any]:
    """The model's `config.json`: a Llama, or a Qwen3-MoE of eight experts of which two answer."""
    common = {
        "vocab_size": VOCABULARY,
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD_SIZE,
        "intermediate_size": INTERMEDIATE,
        "hidden_act": "silu",
        "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "bos_token_id": 256,
        "eos_token_id": 258,
        "dtype": "float32",
    }
    if kind == "dense":
        return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", **common}
    return {
        "architectures": ["Qwen3MoeForCausalLM"],
        "model_type": "qwen3_moe",
        **common,
        "num_experts": EXPERTS,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": EXPERT_INTERMEDIATE,
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
        "norm_topk_prob": True,
    }


def mlp(prefix: str, width: int) -> Shapes:
    return {
        f"{prefix}.gate_proj.weight": (width, HIDDEN),
        f"{prefix}.up_proj.weight": (width, HIDDEN),
        f"{prefix}.down_proj.weight": (HIDDEN, width),
    }


def layer(kind: str, prefix: str) -> Shapes:
    heads, kv_heads = HEADS * HEAD_SIZE, KV_HEADS * HEAD_SIZE
    shapes: Shapes = {
        f"{prefix}.input_layernorm.weight": (HIDDEN,),
        f"{prefix}.post_attention_layernorm.weight": (HIDDEN,),
        f"{prefix}.self_attn.q_proj.weight": (heads, HIDDEN),
        f"{prefix}.self_attn.k_proj.weight": (kv_heads, HIDDEN),
        f"{prefix}.self_attn.v_proj.weight": (kv_heads, HIDDEN),
        f"{prefix}.self_attn.o_proj.weight": (HIDDEN, heads),
    }
    if kind == "dense":
        return shapes | mlp(f"{prefix}.mlp", INTERMEDIATE)
    shapes[f"{prefix}.self_attn.q_norm.weight"] = (HEAD_SIZE,)
    shapes[f"{prefix}.self_attn.k_norm.weight"] = (HEAD_SIZE,)
    shapes[f"{prefix}.mlp.gate.weight"] = (EXPERTS, HIDDEN)
    for expert in range(EXPERTS):
        shapes |= mlp(f"{prefix}.mlp.experts.{expert}", EXPERT_INTERMEDIATE)
    return shapes


def shapes(kind: str) -> Shapes:
    every: Shapes = {"model.embed_tokens.weight": (VOCABULARY, HIDDEN)}
    for index in range(LAYERS):
        every |= layer(kind, f"model.layers.{index}")
    return every | {"model.norm.weight": (HIDDEN,), "lm_head.weight": (VOCABULARY, HIDDEN)}


def uniform(key: str, count: int, bound: float) -> array[float]:
    """`count` float32 in [-bound, bound], drawn from the SHAKE-256 stream of `key`."""
    words = array("H", hashlib.shake_256(key.encode()).digest(2 * count))
    if sys.byteorder == "big":
        words.byteswap()
    return array("f", ((word - 32767.5) * bound / 32768 for word in words))


def tensor(name: str, shape: tuple[int, ...], seed: int) -> bytes:
    """Norms are one; the rest has a variance of 1 / inputs, which keeps the activations' size through the layers."""
    if len(shape) == 1:
        values = array("f", [1.0] * shape[0])
    else:
        values = uniform(f"{seed}:{name}", math.prod(shape), math.sqrt(3 / shape[-1]))
    if name == "lm_head.weight":
        keep_readable(values)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def keep_readable(head: array[float]) -> None:
    """Zero the rows of tokens that are not printable ASCII: greedy text is then always readable."""
    for token in range(VOCABULARY):
        if not 0x20 <= token < 0x7F:
            head[token * HIDDEN : (token + 1) * HIDDEN] = array("f", [0.0] * HIDDEN)


def safetensors(kind: str, seed: int) -> bytes:
    """The safetensors format: length of the header (u64), JSON header, tensors one after the other."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = bytearray()
    for name, shape in sorted(shapes(kind).items()):
        data = tensor(name, shape, seed)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + bytes(body)


def byte_symbols() -> list[str]:
    """The printable character that byte-level BPE (GPT-2) writes for each byte."""
    kept = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved: Iterator[int] = iter(range(0x100, 0x200))
    return [chr(byte if byte in kept else next(moved)) for byte in range(256)]


def tokenizer() -> dict[str, Any]:
    """`tokenizer.json`: one token a byte, no merges, three special tokens."""
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": 256 + at, "content": text, **flags} for at, text in enumerate(SPECIAL)],
        "normalizer": None,
        "pre_tokenizer": level,
        "post_processor": None,
        "decoder": level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {symbol: byte for byte, symbol in enumerate(byte_symbols())},
            "merges": [],
        },
    }


def files(kind: str, seed: int) -> dict[str, bytes]:
    """Every file of the model but the manifest, by name."""
    names = {"bos_token": SPECIAL[0], "pad_token": SPECIAL[0], "eos_token": SPECIAL[2]}
    texts: dict[str, dict[str, Any]] = {
        "config.json": config(kind),
        "generation_config.json": {"bos_token_id": 256, "eos_token_id": 258},
        "tokenizer.json": tokenizer(),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": 2048,
            "clean_up_tokenization_spaces": False,
            "chat_template": CHAT_TEMPLATE,
            **names,
        },
    }
    data = {name: (json.dumps(text, indent=2) + "\n").encode() for name, text in texts.items()}
    return {**data, "model.safetensors": safetensors(kind, seed)}


def write(target: Path, data: dict[str, bytes], *, repo: str, commit: str) -> None:
    target.mkdir(parents=True, exist_ok=True)
    listed = []
    for name, content in data.items():
        (target / name).write_bytes(content)
        listed.append({"path": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()})
    manifest = {"format_version": 1, "repo": repo, "commit": commit, "simulated": False, "files": listed}
    partial = target / f"{MANIFEST}.partial"
    partial.write_text(json.dumps(manifest, indent=2) + "\n")
    partial.replace(target / MANIFEST)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a tiny model with random weights")
    parser.add_argument("--kind", choices=("dense", "moe"), required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--repo", required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    write(asked.target, files(asked.kind, asked.seed), repo=asked.repo, commit=asked.commit)


if __name__ == "__main__":
    main()
