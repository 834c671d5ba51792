"""The GGUF file of a Llama's directory: python3 -m peers.llama_gguf DIR FILE

The weights stay f16, the norms become f32, as llama.cpp's own converter does it. There is no vocabulary: llama-bench
draws its tokens.
"""
import json
import os
import struct
import sys

import gguf
import numpy as np

BLOCK_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def name_of(name):
    name = name.removesuffix(".weight")
    if name in NAMES:
        return NAMES[name] + ".weight"
    _, _, layer, part = name.split(".", 3)
    return "blk.%s.%s.weight" % (layer, BLOCK_NAMES[part])


def interleaved(weight, heads):
    """(heads * head_dim, d_model): llama.cpp turns neighbours, transformers the two halves of a head."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def tensors(path):
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        header = json.loads(f.read(size))
    header.pop("__metadata__", None)
    data = np.memmap(path, np.uint8, "r", 8 + size)
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        yield name, data[begin:end].view("<f2").reshape(entry["shape"])


def put_sizes(writer, config):
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_dimension_count(config["hidden_size"] // config["num_attention_heads"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_tokenizer_model("no_vocab")


def write(directory, path):
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    writer = gguf.GGUFWriter(path, "llama")
    put_sizes(writer, config)
    heads = {"self_attn.q_proj": config["num_attention_heads"], "self_attn.k_proj": config["num_key_value_heads"]}
    for name, data in tensors(os.path.join(directory, "model.safetensors")):
        for part, count in heads.items():
            if part in name:
                data = interleaved(data, count)
        writer.add_tensor(name_of(name), np.ascontiguousarray(data, np.float32 if data.ndim == 1 else np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2])
