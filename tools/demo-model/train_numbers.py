#!/usr/bin/env python3
"""Train the demo model: English number words to German number words, 0..999,999,999.

    two hundred and forty-one thousand and seven -> zweihunderteinundvierzigtausendsieben

The model is the encoder-decoder Transformer of "Attention Is All You Need": token embeddings
times sqrt(d_model) plus sinusoidal positions, torch.nn.Transformer, and an output projection
that shares the target embedding.  The spelling, on both sides, is that of the PyPI package
num2words 0.5.14 (lang "en" and "de"); the two spellers below are faster and are compared with it
by --check-spelling.

    train_numbers.py --check-spelling              compare the spellers with num2words
    train_numbers.py --examples FILE               write pairs to train by, a line each: source, tab, target
    train_numbers.py --train WORK --out DIR        train, then export to DIR and evaluate it
    train_numbers.py --export WORK --out DIR       export the last checkpoint and evaluate it
    train_numbers.py --evaluate DIR                recompute the greedy outputs of DIR/heldout.tsv

WORK keeps the checkpoint; training started again with the same WORK continues from it.
DIR gets config.json, model.safetensors, vocabulary.json and heldout.tsv.  heldout.tsv has no
header line; its columns are number, English, German, and the token ids of the float32 greedy
output, separated by spaces, with bos and eos.

Needs torch, numpy and safetensors (and num2words for --check-spelling).
"""
import argparse
import json
import math
import re
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import load_file, save

LIMIT = 10**9  # numbers are 0 .. LIMIT - 1
PAD, BOS, EOS, UNK = range(4)
SPECIAL_TOKENS = ["<pad>", "<bos>", "<eos>", "<unk>"]
SHOWN = (0, 7, 42, 241007, 1000000, 123456789, 999999999)  # in the documentation; never held out
HELDOUT_COUNT, HELDOUT_SEED = 2000, 20240

# ----------------------------------------------------------------------------- spelling
EN_SMALL = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
            "fifteen sixteen seventeen eighteen nineteen").split()
EN_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
DE_SMALL = ("null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn "
            "fünfzehn sechzehn siebzehn achtzehn neunzehn").split()
DE_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()


def en_below_100(n):
    if n < 20:
        return EN_SMALL[n]
    return EN_TENS[n // 10 - 2] + ("-" + EN_SMALL[n % 10] if n % 10 else "")


def en_below_1000(n):
    if n < 100:
        return en_below_100(n)
    return EN_SMALL[n // 100] + " hundred" + (" and " + en_below_100(n % 100) if n % 100 else "")


def de_unit(n):
    return "ein" if n == 1 else DE_SMALL[n]


def de_below_100(n):
    if n < 20:
        return DE_SMALL[n]
    return (de_unit(n % 10) + "und" if n % 10 else "") + DE_TENS[n // 10 - 2]


def de_below_1000(n):
    if n < 100:
        return de_below_100(n)
    return de_unit(n // 100) + "hundert" + (de_below_100(n % 100) if n % 100 else "")


EN_GROUP = [en_below_1000(n) for n in range(1000)]
DE_GROUP = [de_below_1000(n) for n in range(1000)]


def english(n):
    millions, thousands, rest = n // 10**6, n // 1000 % 1000, n % 1000
    parts = []
    if millions:
        parts.append(EN_GROUP[millions] + " million")
    if thousands:
        parts.append(EN_GROUP[thousands] + " thousand")
    text = ", ".join(parts)
    if not parts:
        return EN_GROUP[rest]
    if rest:
        text += (" and " if rest < 100 else ", ") + EN_GROUP[rest]
    return text


def german(n):
    millions, thousands, rest = n // 10**6, n // 1000 % 1000, n % 1000
    below = ("ein" if thousands == 1 else DE_GROUP[thousands]) + "tausend" if thousands else ""
    if rest or n == 0:
        below += DE_GROUP[rest]
    if not millions:
        return below
    head = "eine Million" if millions == 1 else DE_GROUP[millions] + " Millionen"
    return head + (" " + below if below else "")


def check_spelling(samples, seed):
    """Compare both spellers with num2words, and encode and decode every text."""
    from num2words import num2words
    numbers = list(range(3000)) + draw_numbers(np.random.default_rng(seed), samples)
    source, target = Tokenizer(source_tokens()), Tokenizer(target_tokens())
    for n in numbers:
        for text, lang, tokenizer in ((english(n), "en", source), (german(n), "de", target)):
            expected = num2words(n, lang=lang)
            ids = tokenizer.encode(expected)
            if text != expected or UNK in ids or tokenizer.decode(ids) != expected:
                sys.exit("%d: %r, num2words says %r, tokens %r" % (n, text, expected, ids))
    print("%d numbers: both spellings and both tokenisers agree with num2words" % len(numbers))


# ----------------------------------------------------------------------------- tokens
def source_tokens():
    words = EN_SMALL + EN_TENS + ["hundred", "thousand", "million", "and"]
    return (SPECIAL_TOKENS + words + [" " + w for w in words] + ["-" + w for w in EN_SMALL[1:10]]
            + [",", " ", "-"])


def target_tokens():
    return (SPECIAL_TOKENS + DE_SMALL + DE_TENS
            + ["ein", "eine", "und", "hundert", "tausend", " Million", " Millionen", " "])


class Tokenizer:
    """Greedy longest match of the token strings; text that matches none becomes <unk>."""

    def __init__(self, tokens):
        self.tokens = tokens
        self.ids = {t: i for i, t in enumerate(tokens)}
        longest_first = sorted(tokens[len(SPECIAL_TOKENS):], key=len, reverse=True)
        self.pattern = re.compile("|".join(map(re.escape, longest_first)) + "|.", re.DOTALL)

    def encode(self, text):
        return [self.ids.get(t, UNK) for t in self.pattern.findall(text)]

    def decode(self, ids):
        return "".join(self.tokens[i] for i in ids if i >= len(SPECIAL_TOKENS))


# ----------------------------------------------------------------------------- numbers
def draw_numbers(rng, count):
    """Mixed magnitudes: uniform, uniform digit count, round numbers, and the small ones."""
    uniform = rng.integers(0, LIMIT, count)
    digits = rng.integers(1, 10, count)
    by_digits = rng.integers(0, 10**digits)
    groups = rng.integers(0, 1000, (count, 3))
    simple = rng.integers(0, 20, (count, 3)) * rng.choice([1, 10, 100], (count, 3)) % 1000
    zero = np.zeros_like(groups)
    kind = rng.integers(0, 3, (count, 3))
    mixed = np.select([kind == 0, kind == 1], [zero, simple], groups) @ np.array([10**6, 1000, 1])
    small = rng.integers(0, 2001, count)
    which = rng.choice(4, count, p=[0.30, 0.35, 0.25, 0.10])
    return np.choose(which, [uniform, by_digits, mixed, small]).tolist()


def heldout_numbers():
    """Distinct numbers, half with a uniform digit count, half uniform, sorted.

    At most one in twenty of the numbers of a given digit count is held out, which leaves the
    ten one-digit numbers to training."""
    rng = np.random.default_rng(HELDOUT_SEED)
    room = {d: 9 * 10**(d - 1) // 20 for d in range(1, 10)}
    chosen = set()
    while len(chosen) < HELDOUT_COUNT:
        if len(chosen) < HELDOUT_COUNT // 2:
            d = int(rng.integers(2, 10))
            n = int(rng.integers(10**(d - 1), 10**d))
        else:
            n = int(rng.integers(0, LIMIT))
        d = len(str(n))
        if room[d] > 0 and n not in chosen and n not in SHOWN:
            room[d] -= 1
            chosen.add(n)
    return sorted(chosen)


def loosen(text, rng):
    """What people type as well: no commas, no hyphens, no "and"."""
    for written, instead in ((",", ""), ("-", " "), (" and", "")):
        if rng.random() < 0.5:
            text = text.replace(written, instead)
    return text


def padded(rows):
    width = max(map(len, rows))
    return torch.tensor([r + [PAD] * (width - len(r)) for r in rows])


class Batches:
    """Training pairs: source ids, and target ids with bos and eos; no held-out number."""

    def __init__(self, batch_size, loose_share):
        self.batch_size, self.loose_share = batch_size, loose_share
        self.source, self.target = Tokenizer(source_tokens()), Tokenizer(target_tokens())
        self.heldout = set(heldout_numbers())

    def draw(self, rng):
        numbers = [n for n in draw_numbers(rng, self.batch_size) if n not in self.heldout]
        texts = [loosen(english(n), rng) if rng.random() < self.loose_share else english(n)
                 for n in numbers]
        return (padded([self.source.encode(t) + [EOS] for t in texts]),
                padded([[BOS] + self.target.encode(german(n)) + [EOS] for n in numbers]))


def write_examples(path, count, loose_share, seed):
    """Pairs as training draws them, for vkformer train."""
    heldout, rng = set(heldout_numbers()), np.random.default_rng([seed, count])
    numbers = [n for n in draw_numbers(rng, count) if n not in heldout]
    with open(path, "w", encoding="utf-8") as f:
        for n in numbers:
            text = loosen(english(n), rng) if rng.random() < loose_share else english(n)
            f.write("%s\t%s\n" % (text, german(n)))


# ----------------------------------------------------------------------------- model
def make_config(args):
    return {"model_type": "vkformer-seq2seq", "d_model": args.d_model, "nhead": args.nhead,
            "dim_feedforward": args.dim_feedforward, "activation": "relu", "norm_first": True,
            "layer_norm_eps": 1e-5, "num_encoder_layers": args.layers,
            "num_decoder_layers": args.layers, "src_vocab": len(source_tokens()),
            "tgt_vocab": len(target_tokens()), "share_embed": False, "tie_proj": True,
            "proj_bias": True, "pad_id": PAD, "bos_id": BOS, "eos_id": EOS, "unk_id": UNK,
            "max_len": 24, "max_source_len": 32}


class Seq2Seq(nn.Module):
    """The parameter names are those of model.safetensors."""

    def __init__(self, config):
        super().__init__()
        self.config, d = config, config["d_model"]
        self.src_embed = nn.Embedding(config["src_vocab"], d)
        self.tgt_embed = nn.Embedding(config["tgt_vocab"], d)
        self.transformer = nn.Transformer(
            d, config["nhead"], config["num_encoder_layers"], config["num_decoder_layers"],
            config["dim_feedforward"], dropout=0.0, activation=config["activation"],
            layer_norm_eps=config["layer_norm_eps"], batch_first=True,
            norm_first=config["norm_first"])
        self.generator = nn.Module()
        self.generator.bias = nn.Parameter(torch.zeros(config["tgt_vocab"]))
        for table in (self.src_embed, self.tgt_embed):
            nn.init.normal_(table.weight, std=d**-0.5)
        length = max(config["max_len"], config["max_source_len"])
        self.register_buffer("positions", sinusoids(length, d), persistent=False)

    def embed(self, table, ids):
        return table(ids) * math.sqrt(self.config["d_model"]) + self.positions[:ids.shape[1]]

    def encode(self, source):
        return self.transformer.encoder(self.embed(self.src_embed, source),
                                        src_key_padding_mask=source == PAD)

    def decode(self, target, memory, source):
        size = target.shape[1]
        causal = torch.ones(size, size, dtype=torch.bool).triu(1)
        hidden = self.transformer.decoder(self.embed(self.tgt_embed, target), memory,
                                          tgt_mask=causal,
                                          memory_key_padding_mask=source == PAD)
        return F.linear(hidden, self.tgt_embed.weight, self.generator.bias)

    def forward(self, source, target):
        return self.decode(target, self.encode(source), source)


def sinusoids(length, d):
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    angle = position * 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).reshape(length, d).float()


@torch.no_grad()
def greedy(model, source):
    """-> rows of ids with bos and eos, and the smallest gap between the best two logits."""
    config = model.config
    memory = model.encode(source)
    ids = torch.full((len(source), 1), BOS)
    live = torch.ones(len(source), dtype=torch.bool)
    gap = math.inf
    while live.any() and ids.shape[1] < config["max_len"]:
        top, best = model.decode(ids, memory, source)[:, -1].topk(2)
        gap = min(gap, float((top[:, 0] - top[:, 1])[live].min()))
        ids = torch.cat((ids, best[:, :1].masked_fill(~live.unsqueeze(1), PAD)), dim=1)
        live = live & (ids[:, -1] != EOS)
    return [[i for i in row if i != PAD] for row in ids.tolist()], gap


# ----------------------------------------------------------------------------- training
def learning_rate(step, args):
    if step < args.warmup:
        return args.lr * (step + 1) / args.warmup
    done = (step - args.warmup) / max(1, args.steps - args.warmup)
    return args.lr * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * done)))


def checkpoint_path(work):
    return Path(work) / "checkpoint.pt"


def save_checkpoint(work, model, optimizer, step):
    path = checkpoint_path(work)
    partial = path.with_suffix(".partial")
    torch.save({"config": model.config, "model": model.state_dict(),
                "optimizer": optimizer.state_dict(), "step": step}, partial)
    partial.replace(path)


def load_checkpoint(work):
    return torch.load(checkpoint_path(work), weights_only=True)


def train_step(model, optimizer, source, target):
    logits = model(source, target[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


def train(args):
    Path(args.train).mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)
    model = Seq2Seq(make_config(args)).train()
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    start = 0
    if checkpoint_path(args.train).exists():
        state = load_checkpoint(args.train)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        start = state["step"]
    batches = Batches(args.batch_size, args.loose_share)
    began, losses = time.time(), []
    for step in range(start, args.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, args)
        rng = np.random.default_rng([args.seed, step])
        losses.append(train_step(model, optimizer, *batches.draw(rng)))
        if (step + 1) % args.report == 0 or step + 1 == args.steps:
            save_checkpoint(args.train, model, optimizer, step + 1)
            print("step %d  mean loss %.6f  largest %.6f  %.0f s"
                  % (step + 1, sum(losses) / len(losses), max(losses), time.time() - began),
                  flush=True)
            losses = []


# ----------------------------------------------------------------------------- export
def export(work, out):
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    state = load_checkpoint(work)
    tensors = {k: v.float().contiguous() for k, v in state["model"].items()}
    (out / "model.safetensors").write_bytes(save(tensors))
    write_json(out / "config.json", state["config"])
    write_json(out / "vocabulary.json", {
        "source": {"tokens": source_tokens(), "lowercase": True, "append_eos": True},
        "target": {"tokens": target_tokens()}})
    write_heldout(out, heldout_numbers(), [[] for _ in range(HELDOUT_COUNT)])


def write_json(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def write_heldout(directory, numbers, outputs):
    lines = ["%d\t%s\t%s\t%s\n" % (n, english(n), german(n), " ".join(map(str, ids)))
             for n, ids in zip(numbers, outputs)]
    (Path(directory) / "heldout.tsv").write_text("".join(lines), encoding="utf-8")


def load_exported(directory):
    directory = Path(directory)
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    vocabulary = json.loads((directory / "vocabulary.json").read_text(encoding="utf-8"))
    model = Seq2Seq(config).eval()
    model.load_state_dict(load_file(str(directory / "model.safetensors")))
    return (model, Tokenizer(vocabulary["source"]["tokens"]),
            Tokenizer(vocabulary["target"]["tokens"]))


def translate(model, source, texts, batch_size=250):
    """-> greedy ids of every text, and the smallest gap."""
    rows, gap = [], math.inf
    for at in range(0, len(texts), batch_size):
        part = [source.encode(t) + [EOS] for t in texts[at:at + batch_size]]
        ids, smallest = greedy(model, padded(part))
        rows += ids
        gap = min(gap, smallest)
    return rows, gap


def report(what, numbers, outputs, gap, target):
    wrong = [(n, target.decode(ids)) for n, ids in zip(numbers, outputs)
             if target.decode(ids) != german(n) or ids[-1] != EOS]
    print("%s: %d of %d exactly right, smallest gap of the best two logits %.4f"
          % (what, len(numbers) - len(wrong), len(numbers), gap))
    for n, text in wrong[:20]:
        print("  wrong: %d -> %s" % (n, text))


def evaluate(directory, fresh, seed):
    """Rewrite the greedy ids of heldout.tsv; also try random numbers of any kind."""
    model, source, target = load_exported(directory)
    lines = (Path(directory) / "heldout.tsv").read_text(encoding="utf-8").splitlines()
    heldout = [int(line.split("\t")[0]) for line in lines]
    outputs, gap = translate(model, source, [english(n) for n in heldout])
    report("held out", heldout, outputs, gap, target)
    write_heldout(directory, heldout, outputs)
    report("shown", SHOWN, *translate(model, source, [english(n) for n in SHOWN]), target)
    rng = np.random.default_rng([seed, LIMIT])
    numbers = draw_numbers(rng, fresh)
    report("fresh draws", numbers, *translate(model, source, [english(n) for n in numbers]), target)
    loose = [loosen(english(n), rng) for n in numbers]
    report("fresh draws, loosely written", numbers, *translate(model, source, loose), target)


# ----------------------------------------------------------------------------- command line
def parse_args():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    mode = p.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check-spelling", action="store_true")
    mode.add_argument("--examples", metavar="FILE")
    mode.add_argument("--train", metavar="WORK")
    mode.add_argument("--export", metavar="WORK")
    mode.add_argument("--evaluate", metavar="DIR")
    p.add_argument("--out", metavar="DIR", help="where --train and --export write the model")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--samples", type=int, default=20000, help="numbers to check, examples, or fresh draws")
    p.add_argument("--d-model", type=int, default=128)
    p.add_argument("--nhead", type=int, default=4)
    p.add_argument("--dim-feedforward", type=int, default=256)
    p.add_argument("--layers", type=int, default=2, help="of the encoder, and of the decoder")
    p.add_argument("--batch-size", type=int, default=256)
    p.add_argument("--steps", type=int, default=5000)
    p.add_argument("--warmup", type=int, default=400)
    p.add_argument("--lr", type=float, default=1.5e-3, help="at the end of the warm-up")
    p.add_argument("--loose-share", type=float, default=0.15,
                   help="share of the training texts without commas, hyphens or \"and\"")
    p.add_argument("--report", type=int, default=250, help="steps between checkpoints")
    args = p.parse_args()
    if (args.train or args.export) and not args.out:
        p.error("--out is required")
    return args


def main():
    args = parse_args()
    torch.set_num_threads(args.threads)
    if args.check_spelling:
        check_spelling(args.samples, args.seed)
        return
    if args.examples:
        write_examples(args.examples, args.samples, args.loose_share, args.seed)
        return
    if args.train:
        train(args)
    if not args.evaluate:
        export(args.train or args.export, args.out)
    evaluate(args.evaluate or args.out, args.samples, args.seed)


if __name__ == "__main__":
    main()
