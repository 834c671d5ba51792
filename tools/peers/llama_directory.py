"""A random Llama as save_pretrained() writes one: python3 -m peers.llama_directory DIR SIZES

SIZES is JSON: {"d_model", "layers", "heads", "kv_heads", "ff", "vocab"}. Speed does not depend on what the weights are;
they are f16 and small enough that nothing overflows. The tokenizer knows the words t0, t1 and so on, each a token.
"""
import json
import math
import os
import struct
import sys

SEED = 2026
SPREAD = 0.02  # transformers' initializer_range
POSITIONS = 2048


def shapes(sizes):
    """{name: shape} of all tensors, in the order of the file."""
    width, ff = sizes["d_model"], sizes["ff"]
    kv_width = width // sizes["heads"] * sizes["kv_heads"]
    found = {"model.embed_tokens.weight": (sizes["vocab"], width)}
    for i in range(sizes["layers"]):
        block = {
            "input_layernorm": (width,),
            "self_attn.q_proj": (width, width),
            "self_attn.k_proj": (kv_width, width),
            "self_attn.v_proj": (kv_width, width),
            "self_attn.o_proj": (width, width),
            "post_attention_layernorm": (width,),
            "mlp.gate_proj": (ff, width),
            "mlp.up_proj": (ff, width),
            "mlp.down_proj": (width, ff),
        }
        found.update({"model.layers.%d.%s.weight" % (i, name): shape for name, shape in block.items()})
    found["model.norm.weight"] = (width,)
    found["lm_head.weight"] = (sizes["vocab"], width)
    return found


BLOCK_BYTES = {"q8": 34, "q4": 20}  # of 32 weights


def read_bytes(sizes, blocks=None):
    """What of the weights a token needs: all but the other rows of the embedding, which is in no blocks."""
    width = sizes["d_model"]
    count = 2 * width  # the embedding's row and the last norm
    linear = 0
    for name, shape in shapes(sizes).items():
        if len(shape) == 2 and "embed" not in name:
            linear += math.prod(shape)
        elif ".layers." in name:
            count += math.prod(shape)
    return 2 * count + (linear * BLOCK_BYTES[blocks] // 32 if blocks else 2 * linear)


def config(sizes):
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": sizes["d_model"],
        "num_hidden_layers": sizes["layers"],
        "num_attention_heads": sizes["heads"],
        "num_key_value_heads": sizes["kv_heads"],
        "intermediate_size": sizes["ff"],
        "vocab_size": sizes["vocab"],
        "hidden_act": "silu",
        "max_position_embeddings": POSITIONS,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "torch_dtype": "float16",
        "eos_token_id": None,  # every continuation is as long as it may be
        "bos_token_id": None,
    }


def tokenizer(vocab):
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": False},
        "model": {
            "type": "WordPiece",
            "unk_token": "t0",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {"t%d" % i: i for i in range(vocab)},
        },
    }


def write_weights(path, sizes):
    """The tensors one after the other, so that one alone is in memory."""
    import numpy as np  # who asks for the shapes alone needs none

    rng = np.random.default_rng(SEED)
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in shapes(sizes).items():
        begin, end = end, end + 2 * math.prod(shape)
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for shape in shapes(sizes).values():
            values = np.ones(shape) if len(shape) == 1 else SPREAD * rng.standard_normal(shape, np.float32)
            f.write(values.astype("<f2").tobytes())


def write(directory, sizes):
    os.makedirs(directory, exist_ok=True)
    for name, content in (("config.json", config(sizes)), ("tokenizer.json", tokenizer(sizes["vocab"]))):
        with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
            json.dump(content, f)
    write_weights(os.path.join(directory, "model.safetensors"), sizes)


if __name__ == "__main__":
    write(sys.argv[1], json.loads(sys.argv[2]))
