"""Random decoders: gpt2, gpt_neox, llama, mistral, qwen2 and qwen3, their logits and what they generate.

What a family offers is drawn from the seed, so that twenty seeds cover it; what it is known for comes in turn, and the
default seed has it.

cases.safetensors holds for each case i: i.ids (B, T), padded on the left, and i.starts (B), the number of padding
positions, as I32; i.logits (B, T, V) as F32, zeros where there is padding; i.greedy and, for some, i.beam (B, 12), of
which generation.py tells.

Every row is computed alone and without its padding: the same as in a batch, but for dynamic rope scaling, where the longest
row decides for all. transformers computes RMSNorm and the rotary angles in float32 even in a float64 model; its "eager"
attention does so with the softmax, too, and is not used.
"""
import os
import random

import torch
import transformers
from safetensors.torch import save_file

from generation import NEW_TOKENS, beam_of, fresh, make_telling, text_tokens
from shared import (BOS, EOS, PAD, POSITIONS, REAL_VOCAB, TEXTS, VOCAB, byte_level_bpe, contiguous, randomise, rope,
                    write_lines)

SHAPES = [(1, 1), (1, 17), (3, 9), (2, 30)]  # batch, length
WITH_TEXTS = ("gpt2", "llama")
TRAINED = 16  # positions before rope scaling sets in


def rope_scaling(kind, head_dim, draw):
    theta = draw.choice([10000.0, 500000.0, 1000.0])
    if kind == "none":
        return rope(theta)
    if kind == "yarn":
        extra = draw.choice([{}, {"beta_fast": 16.0, "beta_slow": 2.0}, {"attention_factor": 1.3}])
        return rope(theta, rope_type=kind, factor=3.0, original_max_position_embeddings=TRAINED, **extra)
    if kind == "llama3":
        return rope(theta, rope_type=kind, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                    original_max_position_embeddings=TRAINED)
    if kind == "longrope":
        short, long = ([draw.uniform(low, 2 * low) for _ in range(head_dim // 2)] for low in (1.0, 2.0))
        return dict(rope(theta, rope_type=kind, short_factor=short, long_factor=long),
                    original_max_position_embeddings=TRAINED)
    return rope(theta, rope_type=kind, factor=draw.choice([2.0, 3.5]))


def gpt2(seed, draw):
    return dict(n_embd=30, n_head=3, n_layer=2, n_positions=POSITIONS,
                n_inner=None if seed % 2 == 0 else draw.choice([41, 77]))


def gpt_neox(seed, draw):
    partial = (0.5, 0.25, 1.0)[seed % 3]
    theta = draw.choice([10000.0, 1000.0])
    rotary = rope(theta, rope_type="default", partial_rotary_factor=partial)
    if "rope_theta" in rotary:
        rotary = dict(rotary_pct=partial, rotary_emb_base=theta)
    return dict(hidden_size=48, num_attention_heads=3, intermediate_size=41, use_parallel_residual=seed // 3 % 2 == 1,
                attention_bias=seed % 5 != 0, hidden_act=draw.choice(["gelu", "gelu_new"]), layer_norm_eps=1e-5,
                tie_word_embeddings=draw.random() < 0.2, **rotary)


def llama(seed, draw):
    kind = ("yarn", "llama3", "none", "linear", "dynamic")[seed % 5] if seed % 10 != 7 else "longrope"
    # What dynamic scaling takes for the length that the model was trained on is max_position_embeddings itself.
    positions = TRAINED if kind == "dynamic" else POSITIONS
    epsilon, head_dim = draw.choice([1e-5, 1e-6]), draw.choice([None, 10, 12])
    return dict(hidden_size=40, num_attention_heads=4, num_key_value_heads=2, intermediate_size=44,
                max_position_embeddings=positions, rms_norm_eps=epsilon, head_dim=head_dim,
                attention_bias=draw.random() < 0.5, mlp_bias=draw.random() < 0.5,
                tie_word_embeddings=draw.random() < 0.5, **rope_scaling(kind, head_dim or 10, draw))


def mistral(seed, draw):
    return dict(hidden_size=40, num_attention_heads=4, num_key_value_heads=draw.choice([2, 2, 1, 4]),
                intermediate_size=44, max_position_embeddings=POSITIONS, head_dim=draw.choice([None, 14]),
                sliding_window=None if seed % 4 == 1 else 7, rms_norm_eps=1e-5,
                tie_word_embeddings=draw.random() < 0.3, **rope(draw.choice([10000.0, 1000000.0])))


def qwen2(seed, draw):
    return dict(hidden_size=40, num_attention_heads=4, num_key_value_heads=1, intermediate_size=44,
                max_position_embeddings=POSITIONS, use_sliding_window=seed % 2 == 0, sliding_window=7,
                max_window_layers=1 if seed % 4 else 0, rms_norm_eps=1e-6,
                tie_word_embeddings=draw.random() < 0.5, **rope(draw.choice([10000.0, 1000000.0])))


def qwen3(seed, draw):
    return dict(hidden_size=40, num_attention_heads=4, num_key_value_heads=2, intermediate_size=44,
                max_position_embeddings=POSITIONS, head_dim=12, attention_bias=seed % 3 == 0,
                use_sliding_window=seed % 5 == 0, sliding_window=7, max_window_layers=1, rms_norm_eps=1e-6,
                tie_word_embeddings=seed % 4 != 1, **rope(1000000.0))


def gpt2_blocks(seed, draw):
    return dict(n_embd=64, n_head=4, n_layer=1, n_positions=POSITIONS, n_inner=96, tie_word_embeddings=False)


def llama_blocks(seed, draw):
    return dict(hidden_size=64, num_attention_heads=4, num_key_value_heads=2, head_dim=16, intermediate_size=96,
                max_position_embeddings=POSITIONS, rms_norm_eps=1e-5, attention_bias=draw.random() < 0.5,
                tie_word_embeddings=False, **rope(10000.0))


FAMILIES = {
    # Sizes that are multiples of 32: these can be quantised.
    "gpt2-blocks": (transformers.GPT2Config, gpt2_blocks, None),
    "llama-blocks": (transformers.LlamaConfig, llama_blocks, None),
    "gpt2": (transformers.GPT2Config, gpt2, dict(n_embd=768, n_head=12, n_layer=2, n_positions=1024)),
    "gpt_neox": (transformers.GPTNeoXConfig, gpt_neox, dict(
        hidden_size=1024, num_attention_heads=16, intermediate_size=4096, max_position_embeddings=2048)),
    "llama": (transformers.LlamaConfig, llama, dict(  # Llama 3.2 1B
        hidden_size=2048, num_attention_heads=32, num_key_value_heads=8, intermediate_size=8192, num_hidden_layers=1,
        max_position_embeddings=131072, tie_word_embeddings=True, **rope(
            500000.0, rope_type="llama3", factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0,
            original_max_position_embeddings=8192))),
    "mistral": (transformers.MistralConfig, mistral, dict(  # Mistral 7B
        hidden_size=4096, num_attention_heads=32, num_key_value_heads=8, intermediate_size=14336, num_hidden_layers=1,
        max_position_embeddings=32768, sliding_window=4096, **rope(10000.0))),
    "qwen2": (transformers.Qwen2Config, qwen2, dict(  # Qwen2 0.5B
        hidden_size=896, num_attention_heads=14, num_key_value_heads=2, intermediate_size=4864,
        max_position_embeddings=32768, tie_word_embeddings=True, **rope(1000000.0))),
    "qwen3": (transformers.Qwen3Config, qwen3, dict(  # Qwen3 0.6B
        hidden_size=1024, num_attention_heads=16, num_key_value_heads=8, head_dim=128, intermediate_size=3072,
        max_position_embeddings=40960, tie_word_embeddings=True, **rope(1000000.0))),
}


def make_model(family, seed, attempt, real):
    config_class, options, real_sizes = FAMILIES[family]
    sizes = dict(real_sizes) if real else {k: v for k, v in options(seed, random.Random(seed)).items()
                                           if v is not None or k in ("sliding_window", "rope_scaling")}
    sizes.setdefault("n_layer" if config_class is transformers.GPT2Config else "num_hidden_layers", 2)
    if family == "gpt_neox":
        sizes.setdefault("max_position_embeddings", POSITIONS)
    # Llama 3 has several end tokens.
    end = [EOS, EOS + 1] if family == "llama" and seed % 5 == 1 else EOS
    config = config_class(vocab_size=REAL_VOCAB if real else VOCAB, pad_token_id=PAD, bos_token_id=BOS,
                          eos_token_id=end, **sizes)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval()
    # A large part of the position or of the token, or the same token follows every text.
    randomise(model, 1000 * seed + attempt, {"wpe": 1.0, "embed_in": 1.0})
    return model


def make_prompts(vocab, generator):
    prompts = []
    for batch, length in SHAPES:
        ids = torch.randint(EOS + 2, vocab, (batch, length), generator=generator)
        starts = length - torch.randint(1, length + 1, (batch,), generator=generator)
        starts[0] = 0
        valid = torch.arange(length)[None, :] >= starts[:, None]
        prompts.append((torch.where(valid, ids, PAD), starts))
    return prompts


def compute_logits(model, ids, starts):
    logits = torch.zeros(*ids.shape, model.config.vocab_size, dtype=torch.float64)
    for out, row, start in zip(logits, ids, starts):
        with torch.no_grad():
            out[start:] = fresh(model)(input_ids=row[None, start:]).logits[0]
    return logits


def make_cases(family, options):
    """The model as it is saved, the same in float64, and its cases."""
    def make(attempt):
        model = make_model(family, options.seed, attempt, options.real)
        prompts = make_prompts(model.config.vocab_size, torch.Generator().manual_seed(1000 * options.seed + attempt))
        return model, prompts, [[row[start:] for row, start in zip(ids, starts)] for ids, starts in prompts]

    saved, model, prompts, cases = make_telling(make, "%s, seed %d" % (family, options.seed), options.dtype)
    for i, (ids, starts) in enumerate(prompts):
        logits = compute_logits(model, ids, starts)
        if not torch.equal(logits[:, -1].argmax(-1), cases["%d.greedy" % i][:, 0].long()):
            raise SystemExit("%s, seed %d, case %d: forward() and generate() do not agree" % (family, options.seed, i))
        cases.update({"%d.ids" % i: ids.int(), "%d.starts" % i: starts.int(), "%d.logits" % i: logits.float()})
    return saved, model, contiguous(cases)


def write_texts(model, tokenizer, directory):
    """expected.jsonl: texts, their tokens, what greedy generation makes of them, its text, and what beams make of them."""
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)

    def decode(ids):
        return tokenizer.decode(ids, skip_special_tokens=True)

    lines = []
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        if not 0 < len(ids) <= POSITIONS - NEW_TOKENS:
            continue
        generated = text_tokens(model, ids)
        if generated is None:  # a tie
            continue
        lines.append({"text": text, "tokens": ids, "generated": generated, "output": decode(generated),
                      **beam_of(model, ids, fast, decode)})
    write_lines(os.path.join(directory, "expected.jsonl"), lines)


def write(family, out, options):
    directory = os.path.join(out, family)
    saved, model, cases = make_cases(family, options)
    saved.save_pretrained(directory, safe_serialization=True)
    if family in WITH_TEXTS and not options.real:
        tokenizer = byte_level_bpe(family)
        tokenizer.save(os.path.join(directory, "tokenizer.json"))
        write_texts(model, tokenizer, directory)
    save_file(cases, os.path.join(directory, "cases.safetensors"))
