"""The GGUF file of a Llama's directory: python3 -m peers.llama_gguf DIR FILE f16|f32|q8|q4

The weights stay f16, or become f32, or Q8_0 or Q4_1 but for the embedding, which is what vkformer has in blocks then;
norms become f32, as llama.cpp's own converter does it. A file in f32 is for llama-finetune, which reads a text: its
vocabulary is the bytes. The others have none: llama-bench draws its tokens.
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
BLOCKS = {"q8": gguf.GGMLQuantizationType.Q8_0, "q4": gguf.GGMLQuantizationType.Q4_1}
FILE_TYPES = {"f16": gguf.LlamaFileType.MOSTLY_F16, "f32": gguf.LlamaFileType.ALL_F32,
              "q8": gguf.LlamaFileType.MOSTLY_Q8_0, "q4": gguf.LlamaFileType.MOSTLY_Q4_1}
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


def put_sizes(writer, config, kind):
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
    writer.add_file_type(FILE_TYPES[kind])


def put_vocabulary(writer, size):
    """Each byte is a token; no text has the others."""
    unused = size - 3 - 256
    writer.add_tokenizer_model("llama")
    writer.add_token_list(["<unk>", "<s>", "</s>"] + ["<0x%02X>" % i for i in range(256)] +
                          ["<unused%d>" % i for i in range(unused)])
    writer.add_token_scores([0.0] * size)
    writer.add_token_types([gguf.TokenType.UNKNOWN] + [gguf.TokenType.CONTROL] * 2 + [gguf.TokenType.BYTE] * 256 +
                           [gguf.TokenType.UNUSED] * unused)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)


def add(writer, name, data, kind):
    if data.ndim == 1:
        writer.add_tensor(name, np.ascontiguousarray(data, np.float32))
    elif kind in BLOCKS and not name.startswith("token_embd"):
        blocks = gguf.quants.quantize(np.ascontiguousarray(data, np.float32), BLOCKS[kind])
        writer.add_tensor(name, blocks, raw_dtype=BLOCKS[kind])
    else:
        writer.add_tensor(name, np.ascontiguousarray(data, np.float32 if kind == "f32" else np.float16))


def write(directory, path, kind):
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    writer = gguf.GGUFWriter(path, "llama")
    put_sizes(writer, config, kind)
    if kind == "f32":
        put_vocabulary(writer, config["vocab_size"])
    else:
        writer.add_tokenizer_model("no_vocab")
    heads = {"self_attn.q_proj": config["num_attention_heads"], "self_attn.k_proj": config["num_key_value_heads"]}
    for name, data in tensors(os.path.join(directory, "model.safetensors")):
        for part, count in heads.items():
            if part in name:
                data = interleaved(data, count)
        add(writer, name_of(name), data, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(*sys.argv[1:4])
