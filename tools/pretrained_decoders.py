"""Random decoders: gpt2, gpt_neox, llama, mistral, qwen2 and qwen3, their logits and what they generate.

What a family offers is drawn from the seed, so that twenty seeds cover it; what it is known for comes in turn, and the
default seed has it.

cases.safetensors holds for each case i: i.ids (B, T), padded on the left, and i.starts (B), the number of padding
positions, as I32; i.logits (B, T, V) as F32, zeros where there is padding; i.greedy (B, 12):
what generate() adds with do_sample=False, padded behind the end token; for cases 1 and 2, i.beam (B, 12) with
num_beams=3, length_penalty=0.8 and early_stopping=True.

Every row is computed alone and without its padding: the same as in a batch, but for dynamic rope scaling, where the longest
row decides for all. transformers computes RMSNorm and the rotary angles in float32 even in a float64 model; its "eager"
attention does so with the softmax, too, and is not used.
"""
import copy
import os
import random

import torch
import transformers
from safetensors.torch import save_file

from pretrained_shared import (BOS, EOS, PAD, POSITIONS, TEXTS, VOCAB, byte_level_bpe, contiguous, randomise,
                               write_lines)

SHAPES = [(1, 1), (1, 17), (3, 9), (2, 30)]  # batch, length
BEAM_CASES = (1, 2)
BEAM = dict(num_beams=3, length_penalty=0.8, early_stopping=True)
NEW_TOKENS = 12
WITH_TEXTS = ("gpt2", "llama")
TRAINED = 16  # positions before rope scaling sets in
KNOWN_AS = "rope_parameters" if int(transformers.__version__.split(".")[0]) >= 5 else "rope_scaling"


def rope(theta, **scaling):
    """How the version at hand wants it: one dictionary since 5, two arguments before."""
    if KNOWN_AS == "rope_parameters":
        return {KNOWN_AS: {"rope_theta": theta, **(scaling or {"rope_type": "default"})}}
    return {"rope_theta": theta, KNOWN_AS: scaling or None}


def rope_scaling(kind, draw):
    theta = draw.choice([10000.0, 500000.0, 1000.0])
    if kind == "none":
        return rope(theta)
    if kind == "yarn":
        extra = draw.choice([{}, {"beta_fast": 16.0, "beta_slow": 2.0}, {"attention_factor": 1.3}])
        return rope(theta, rope_type=kind, factor=3.0, original_max_position_embeddings=TRAINED, **extra)
    if kind == "llama3":
        return rope(theta, rope_type=kind, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                    original_max_position_embeddings=TRAINED)
    return rope(theta, rope_type=kind, factor=draw.choice([2.0, 3.5]))


def gpt2(seed, draw):
    return dict(n_embd=30, n_head=3, n_layer=2, n_positions=POSITIONS,
                n_inner=None if seed % 2 == 0 else draw.choice([41, 77]))


def gpt_neox(seed, draw):
    partial = (0.5, 0.25, 1.0)[seed % 3]
    theta = draw.choice([10000.0, 1000.0])
    if KNOWN_AS == "rope_parameters":
        rotary = {KNOWN_AS: {"rope_type": "default", "rope_theta": theta, "partial_rotary_factor": partial}}
    else:
        rotary = dict(rotary_pct=partial, rotary_emb_base=theta)
    return dict(hidden_size=48, num_attention_heads=3, intermediate_size=41, use_parallel_residual=seed // 3 % 2 == 1,
                attention_bias=seed % 5 != 0, hidden_act=draw.choice(["gelu", "gelu_new"]), layer_norm_eps=1e-5,
                tie_word_embeddings=draw.random() < 0.2, **rotary)


def llama(seed, draw):
    kind = ("yarn", "llama3", "none", "linear", "dynamic")[seed % 5]
    # What dynamic scaling takes for the length that the model was trained on is max_position_embeddings itself.
    positions = TRAINED if kind == "dynamic" else POSITIONS
    return dict(hidden_size=40, num_attention_heads=4, num_key_value_heads=2, intermediate_size=44,
                max_position_embeddings=positions, rms_norm_eps=draw.choice([1e-5, 1e-6]),
                head_dim=draw.choice([None, 10, 12]), attention_bias=draw.random() < 0.5,
                mlp_bias=draw.random() < 0.5, tie_word_embeddings=draw.random() < 0.5, **rope_scaling(kind, draw))


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


FAMILIES = {
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
REAL_VOCAB = 4096


def make_model(family, seed, attempt, real):
    config_class, options, real_sizes = FAMILIES[family]
    sizes = dict(real_sizes) if real else {k: v for k, v in options(seed, random.Random(seed)).items()
                                           if v is not None or k in ("sliding_window", "rope_scaling")}
    sizes.setdefault("n_layer" if family == "gpt2" else "num_hidden_layers", 2)
    if family == "gpt_neox":
        sizes.setdefault("max_position_embeddings", POSITIONS)
    # Llama 3 has several end tokens.
    end = [EOS, EOS + 1] if family == "llama" and seed % 5 == 1 else EOS
    config = config_class(vocab_size=REAL_VOCAB if real else VOCAB, pad_token_id=PAD, bos_token_id=BOS,
                          eos_token_id=end, **sizes)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval()
    randomise(model, 1000 * seed + attempt)
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


class Noise(transformers.LogitsProcessor):
    """More than any float32 arithmetic is off by: what is generated all the same, is no tie."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, input_ids, scores):
        return scores + 1e-3 * torch.randn(scores.shape, generator=self.generator, dtype=scores.dtype)


def continue_row(model, row, noise=None, **options):
    """(NEW_TOKENS) tokens behind a row of tokens. A copy each time: dynamic rope scaling remembers lengths.

    What is behind an end token is PAD: beam search puts other tokens there."""
    processors = transformers.LogitsProcessorList([] if noise is None else [Noise(noise)])
    with torch.no_grad():
        out = copy.deepcopy(model).generate(
            row[None], attention_mask=torch.ones_like(row[None]), do_sample=False, max_new_tokens=NEW_TOKENS,
            min_new_tokens=0, pad_token_id=PAD, logits_processor=processors, **options)[0, len(row):]
    ends = torch.isin(out, torch.tensor(model.generation_config.eos_token_id or [])).int()
    out = torch.where(ends.cumsum(0) - ends > 0, PAD, out)
    return torch.nn.functional.pad(out, (0, NEW_TOKENS - len(out)), value=PAD)


def generate(model, ids, starts, **options):
    """(B, NEW_TOKENS), or None where noise changes what is generated."""
    rows = []
    for row in (row[start:] for row, start in zip(ids, starts)):
        rows.append(continue_row(model, row, **options))
        if not all(torch.equal(rows[-1], continue_row(model, row, noise, **options)) for noise in (1, 2)):
            return None
    return torch.stack(rows)


def swap_tokens(model, a, b):
    weights = {id(w): w for w in (model.get_input_embeddings().weight, model.get_output_embeddings().weight)}
    with torch.no_grad():
        for weight in weights.values():
            weight[[a, b]] = weight[[b, a]]


def make_eos_frequent(model, prompts):
    """Gives the end token's rows to a token that greedy generation comes to, but not at once."""
    model.generation_config.eos_token_id, end = None, model.generation_config.eos_token_id
    rows = [continue_row(model, row[start:]).tolist() for ids, starts in prompts for row, start in zip(ids, starts)]
    model.generation_config.eos_token_id = end
    late = [token for row in rows for token in set(row[2:]) - set(row[:2]) if token > EOS + 1]
    if late:
        swap_tokens(model, EOS, max(sorted(set(late)), key=late.count))


def says_something(generated):
    """Some of the texts end early, few at once, and they are not all the same token again and again."""
    rows = [row.tolist() for name, tokens in generated.items() if name.endswith("greedy") for row in tokens]
    lengths = [sum(token != PAD for token in row) for row in rows]
    ended = sum(1 < n < NEW_TOKENS for n in lengths)
    return (0 < ended < len(rows) and lengths.count(1) < 2 and all(0 not in row[:n] for row, n in zip(rows, lengths))
            and len({token for row in rows for token in row}) > NEW_TOKENS)


def generate_all(model, prompts):
    """{name: tokens}, or None where one of them is a tie or they say too little."""
    out = {}
    for i, (ids, starts) in enumerate(prompts):
        out["%d.greedy" % i] = generate(model, ids, starts)
        if i in BEAM_CASES:
            out["%d.beam" % i] = generate(model, ids, starts, **BEAM)
        if any(tokens is None for tokens in out.values()):
            return None
    return {name: tokens.int() for name, tokens in out.items()} if says_something(out) else None


def compute_logits(model, ids, starts):
    logits = torch.zeros(*ids.shape, model.config.vocab_size, dtype=torch.float64)
    for out, row, start in zip(logits, ids, starts):
        with torch.no_grad():
            out[start:] = copy.deepcopy(model)(input_ids=row[None, start:]).logits[0]
    return logits


def make_cases(family, seed, real, dtype):
    """The model as it is saved, and its cases. Prompts are drawn until what is generated says something."""
    for attempt in range(100):
        model = make_model(family, seed, attempt, real)
        prompts = make_prompts(model.config.vocab_size, torch.Generator().manual_seed(1000 * seed + attempt))
        make_eos_frequent(model, prompts)
        saved = copy.deepcopy(model.to(dtype))
        model.double()
        generated = generate_all(model, prompts)
        if generated:
            print("%s, seed %d: attempt %d" % (family, seed, attempt + 1))
            break
    else:
        raise SystemExit("%s, seed %d: no model says something" % (family, seed))
    cases = dict(generated)
    for i, (ids, starts) in enumerate(prompts):
        logits = compute_logits(model, ids, starts)
        if not logits.isfinite().all():
            raise SystemExit("%s, seed %d, case %d: not a number" % (family, seed, i))
        if not torch.equal(logits[:, -1].argmax(-1), generated["%d.greedy" % i][:, 0]):
            raise SystemExit("%s, seed %d, case %d: forward() and generate() do not agree" % (family, seed, i))
        cases.update({"%d.ids" % i: ids.int(), "%d.starts" % i: starts.int(), "%d.logits" % i: logits.float()})
    return saved, model, contiguous(cases)


def write_texts(family, model, directory):
    tokenizer = byte_level_bpe(family)
    tokenizer.save(os.path.join(directory, "tokenizer.json"))
    lines = []
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        if not 0 < len(ids) <= POSITIONS - NEW_TOKENS:
            continue
        tokens = generate(model, torch.tensor([ids]), torch.tensor([0]))
        if tokens is None:  # a tie
            continue
        generated = [token for token in tokens[0].tolist() if token != PAD]
        lines.append({"text": text, "tokens": ids, "generated": generated,
                      "output": tokenizer.decode(generated, skip_special_tokens=True)})
    write_lines(os.path.join(directory, "expected.jsonl"), lines)


def write(family, out, options):
    directory = os.path.join(out, family)
    saved, model, cases = make_cases(family, options.seed, options.real, options.dtype)
    saved.save_pretrained(directory, safe_serialization=True)
    if family in WITH_TEXTS and not options.real:
        write_texts(family, model, directory)
    save_file(cases, os.path.join(directory, "cases.safetensors"))
