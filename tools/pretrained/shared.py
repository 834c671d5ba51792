"""What the generators of tools/pretrained/make-models share: sizes, random weights, tokenizers, files."""
import copy
import json
import math
import os

import tokenizers
import torch
import transformers

VOCAB, POSITIONS = 101, 48
REAL_VOCAB = 4096  # of models that are as wide as real ones
PAD, BOS, EOS = 0, 1, 2
SPECIAL = ["<pad>", "<s>", "</s>"]

TEXTS = [
    "The small grey cat sat on the warm stone wall.",
    "A cat sat there.",
    "Rain falls on the hills, and the rivers rise; nobody was warned.",
    "rain",
    "",
    "Ströme und Hügel: ÄÖÜ, 42 %!",
    "unbelievable " * 30,  # more tokens than the model has positions
]


def randomise(model, seed, scales=None, keep=()):
    """Weights as large as trained ones make the activations; norms and biases are not idle.

    scales: the standard deviation of parameters with a part in their names, of up to 64 columns; keep: parts of the names of those that
    stay as they are."""
    torch.manual_seed(seed)
    buffers = [(name, buffer) for name, buffer in model.named_buffers() if name == "final_logits_bias"]
    with torch.no_grad():
        for name, parameter in [*model.named_parameters(), *buffers]:
            if any(part in name for part in keep):
                continue
            norm = name.endswith("weight") and parameter.dim() == 1
            scale = 0.25 if parameter.dim() == 1 else 0.25 * min(1.0, math.sqrt(40 / parameter.shape[-1]))
            given = next((value for part, value in (scales or {}).items() if part in name), None)
            if given is not None:
                embeds = any(part in name for part in ("embed", "wpe", "shared"))
                scale = given if embeds else given * min(1.0, math.sqrt(64 / parameter.shape[-1]))
            parameter.copy_((1.0 if norm else 0.0) + scale * torch.randn_like(parameter, dtype=torch.float32))


def stored_in(model, dtype):
    """A copy that is saved in `dtype`; the model itself gets the numbers that are in it then, in float64. Rotary angles and
    Marian's sines are in no file, and are not rounded."""
    saved = copy.deepcopy(model).to(dtype)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if not (model.config.model_type == "marian" and "embed_positions" in name):
                tensor.copy_(tensor.to(dtype))
    model.double()
    return saved


def rope(theta, **scaling):
    """As the version of transformers at hand wants it: one dictionary since 5, two arguments before."""
    if int(transformers.__version__.split(".")[0]) >= 5:
        return {"rope_parameters": {"rope_theta": theta, **(scaling or {"rope_type": "default"})}}
    return {"rope_theta": theta, "rope_scaling": scaling or None}


def byte_level_bpe(kind):
    """A tokenizer as the family's own: "gpt2", or "llama" with Llama 3's pattern and a first token."""
    models, pre_tokenizers, processors = tokenizers.models, tokenizers.pre_tokenizers, tokenizers.processors
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    if kind == "gpt2":
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    else:
        pattern = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                   r"|\s*[\r\n]+|\s+(?!\S)|\s+")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", BOS)])
    tokenizer.train_from_iterator(TEXTS, tokenizers.trainers.BpeTrainer(
        vocab_size=VOCAB, special_tokens=SPECIAL, initial_alphabet=[], show_progress=False))
    return tokenizer


def write_json(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, indent=2)
        f.write("\n")


def write_lines(path, values):
    with open(path, "w", encoding="utf-8") as f:
        for value in values:
            f.write(json.dumps(value, ensure_ascii=False) + "\n")


def contiguous(tensors):
    return {name: tensor.contiguous() for name, tensor in tensors.items()}
