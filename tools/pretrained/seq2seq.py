"""Random encoder-decoders: t5, marian and bart, their encoder's output, logits and what they generate.

cases.safetensors holds for each case i: i.ids (B, S), padded on the right, i.lengths (B) and i.decoder_ids (B, L), which
begin with decoder_start_token_id, as I32; i.hidden (B, S, d_model), the encoder's output, zeros where there is padding,
and i.logits (B, L, V) as F32; i.greedy and, for some, i.beam (B, 12), of which generation.py tells. Rows are
computed alone, without their padding. marian has source.spm, target.spm and vocab.json, too, and expected.jsonl: texts, their
tokens, what greedy generation makes of them, its text, and what beams make of them. It needs sentencepiece.
"""
import io
import os
import random

import torch
import transformers
from safetensors.torch import save_file

from generation import beam_of, make_telling, text_tokens
from shared import POSITIONS, REAL_VOCAB, TEXTS, VOCAB, contiguous, randomise, write_json, write_lines

SHAPES = [(1, 1, 1), (1, 17, 6), (3, 9, 8), (2, 30, 5)]  # batch, source and target length


def t5(seed, draw):
    kind = "gated-gelu" if seed % 2 == 0 else "relu"
    return dict(d_model=36, d_kv=10, d_ff=41, num_layers=2, num_decoder_layers=draw.choice([1, 2]), num_heads=4,
                relative_attention_num_buckets=draw.choice([8, 12]), relative_attention_max_distance=draw.choice([12, 20]),
                feed_forward_proj=kind, tie_word_embeddings=seed % 4 in (1, 0), pad_token_id=0, eos_token_id=1,
                decoder_start_token_id=0, vocab_size=VOCAB)


def layers(draw):
    return dict(d_model=36, encoder_layers=draw.choice([1, 2]), decoder_layers=draw.choice([1, 2]),
                encoder_attention_heads=3, decoder_attention_heads=draw.choice([2, 3]), encoder_ffn_dim=41,
                decoder_ffn_dim=draw.choice([41, 52]), max_position_embeddings=POSITIONS, vocab_size=VOCAB)


def marian(seed, draw):
    return dict(**layers(draw), activation_function="swish" if seed % 3 else "gelu", scale_embedding=seed % 4 != 3,
                pad_token_id=VOCAB - 1, eos_token_id=0, decoder_start_token_id=VOCAB - 1,
                forced_eos_token_id=0 if seed % 2 == 0 else None, tie_word_embeddings=True)


def bart(seed, draw):
    return dict(**layers(draw), activation_function="gelu", scale_embedding=seed % 3 == 0, bos_token_id=0, pad_token_id=1,
                eos_token_id=2, decoder_start_token_id=2, forced_bos_token_id=0 if seed % 2 else None,
                forced_eos_token_id=2 if seed % 4 < 3 else None, tie_word_embeddings=True)


REAL_LAYERS = dict(encoder_layers=1, decoder_layers=1, vocab_size=REAL_VOCAB)
FAMILIES = {
    "t5": (transformers.T5Config, t5, dict(  # FLAN-T5 small
        d_model=512, d_kv=64, d_ff=1024, num_heads=6, num_layers=1, num_decoder_layers=1, vocab_size=REAL_VOCAB,
        relative_attention_num_buckets=32, relative_attention_max_distance=128)),
    "marian": (transformers.MarianConfig, marian, dict(
        d_model=512, encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048,
        max_position_embeddings=512, pad_token_id=REAL_VOCAB - 1, decoder_start_token_id=REAL_VOCAB - 1,
        **REAL_LAYERS)),
    "bart": (transformers.BartConfig, bart, dict(  # BART base
        d_model=768, encoder_attention_heads=12, decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072,
        max_position_embeddings=1024, **REAL_LAYERS)),
}
# T5 scales neither its scores nor its embeddings; tied, it scales the last hidden states down. The token and the
# feed-forward part are strong beside what attention adds, or one token follows every text again and again.
STRONG = {"fc1": 0.7, "fc2.weight": 1.0, "out_proj.weight": 0.2, "q_proj": 0.5, "k_proj": 0.5}
SCALES = {
    "t5": {"SelfAttention.q": 0.08, "EncDecAttention.q": 0.08, "relative_attention_bias": 1.0, "shared": 1.6,
           "DenseReluDense.wi": 0.5, "DenseReluDense.wo": 1.0},
    "marian": STRONG,
    "bart": {"embed_positions": 0.4, "shared": 0.6, **STRONG},
}
OF_GENERATION = ("forced_bos_token_id", "forced_eos_token_id")


def make_model(family, seed, attempt, real):
    config_class, options, real_sizes = FAMILIES[family]
    sizes = {**options(seed, random.Random(seed)), **(real_sizes if real else {})}
    generation = {key: sizes.pop(key) for key in OF_GENERATION if key in sizes}
    config = config_class(**sizes)
    attention = "eager" if family == "t5" else "sdpa"  # the first one's softmax is in float32
    model = transformers.AutoModelForSeq2SeqLM.from_config(config, attn_implementation=attention).eval()
    for key, value in generation.items():
        setattr(model.generation_config, key, value)
    if family == "marian":  # or it writes padding
        model.generation_config.bad_words_ids = [[config.pad_token_id]]
    # Marian's positions are sines, which are not saved.
    scales = dict(SCALES[family])
    if not getattr(config, "scale_decoder_outputs", True):  # of T5 since transformers 5, where weights are tied all the same
        scales["shared"] = 0.27
    randomise(model, 1000 * seed + attempt, scales, ("embed_positions",) if family == "marian" else ())
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("fc2.weight", "DenseReluDense.wo.weight")):  # an activation's mean is no part of what it adds
                parameter -= parameter.mean(1, keepdim=True)
    return model


def draw_ids(config, shape, generator):
    ids = torch.randint(4, config.vocab_size - 1, shape, generator=generator)
    return torch.where(ids == config.pad_token_id, 5, ids)


def make_prompts(config, generator):
    """(source, lengths, target) of each case; a source ends with the end token, as the tokenizers' texts do."""
    prompts = []
    for batch, source_len, target_len in SHAPES:
        source = draw_ids(config, (batch, source_len), generator)
        lengths = torch.randint(1, source_len + 1, (batch,), generator=generator)
        lengths[0] = source_len
        positions = torch.arange(source_len)[None, :]
        source = torch.where(positions == lengths[:, None] - 1, config.eos_token_id, source)
        source = torch.where(positions >= lengths[:, None], config.pad_token_id, source)
        target = draw_ids(config, (batch, target_len), generator)
        target[:, 0] = config.decoder_start_token_id
        prompts.append((source, lengths, target))
    return prompts


def compute(model, source, lengths, target):
    hidden = torch.zeros(*source.shape, model.config.d_model, dtype=torch.float64)
    logits = []
    for out, row, length, row_target in zip(hidden, source, lengths, target):
        with torch.no_grad():
            result = model(input_ids=row[None, :length], decoder_input_ids=row_target[None])
        out[:length] = result.encoder_last_hidden_state[0]
        logits.append(result.logits[0])
    return hidden, torch.stack(logits)


def make_cases(family, options):
    def make(attempt):
        model = make_model(family, options.seed, attempt, options.real)
        prompts = make_prompts(model.config, torch.Generator().manual_seed(1000 * options.seed + attempt))
        return model, prompts, [[row[:n] for row, n in zip(source, lengths)] for source, lengths, _ in prompts]

    saved, model, prompts, cases = make_telling(make, "%s, seed %d" % (family, options.seed), options.dtype, 9)
    for i, (source, lengths, target) in enumerate(prompts):
        hidden, logits = compute(model, source, lengths, target)
        cases.update({
            "%d.ids" % i: source.int(), "%d.lengths" % i: lengths.int(), "%d.decoder_ids" % i: target.int(),
            "%d.hidden" % i: hidden.float(), "%d.logits" % i: logits.float()})
    return saved, model, contiguous(cases)


def train_pieces(lines, size):
    import sentencepiece
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=out, model_type="unigram", vocab_size=size, hard_vocab_limit=False,
        character_coverage=1.0, normalization_rule_name="identity", minloglevel=2)
    model = sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())
    return out.getvalue(), [model.id_to_piece(i) for i in range(model.get_piece_size())]


def write_marian_tokenizer(directory):
    """The source language is that of TEXTS; the target language's letters have the other case."""
    source, source_pieces = train_pieces(TEXTS, 60)
    target, target_pieces = train_pieces([text.swapcase() for text in TEXTS], 60)
    pieces = [piece for pair in zip(source_pieces, target_pieces) for piece in pair]
    pieces = [piece for piece in dict.fromkeys(pieces) if piece not in ("<unk>", "<s>", "</s>")]
    pieces += ["▁word%d" % i for i in range(VOCAB)]  # of neither model
    tokens = ["</s>", "<unk>", ">>abc<<", *pieces][:VOCAB - 1] + ["<pad>"]
    write_json(os.path.join(directory, "vocab.json"), {token: i for i, token in enumerate(tokens)})
    for name, model in (("source.spm", source), ("target.spm", target)):
        with open(os.path.join(directory, name), "wb") as f:
            f.write(model)


def write_texts(model, directory):
    tokenizer = transformers.MarianTokenizer.from_pretrained(directory)

    def decode(ids):
        return tokenizer.decode(ids, skip_special_tokens=True, use_source_tokenizer=False)

    lines = []
    for text in [*TEXTS, ">>abc<< rain", ">>xyz<< A cat sat there.  "]:
        ids = tokenizer(text)["input_ids"]
        generated = text_tokens(model, ids) if len(ids) <= POSITIONS else None
        if generated is None:  # too long, or a tie
            continue
        lines.append({"text": text, "tokens": ids, "generated": generated, "output": decode(generated),
                      **beam_of(model, ids, tokenizer, decode)})
    write_lines(os.path.join(directory, "expected.jsonl"), lines)


def write(family, out, options):
    directory = os.path.join(out, family)
    saved, model, cases = make_cases(family, options)
    saved.save_pretrained(directory, safe_serialization=True)
    if family == "marian" and not options.real:
        write_marian_tokenizer(directory)
        write_texts(model, directory)
    save_file(cases, os.path.join(directory, "cases.safetensors"))
