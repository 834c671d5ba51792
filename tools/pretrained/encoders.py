"""Random encoders: bert, roberta, camembert, distilbert and modernbert, their hidden states and embeddings. bert-decoder is
a BERT with is_decoder; texts of camembert have its padding token in them.

cases.safetensors holds for each case i: i.ids, i.types (B, S) and i.lengths (B) as I32, i.hidden (B, S, d_model) and
i.embeddings (B, d_model) as F32; hidden states of padding are zeros. modules.json is there where the family is one that
is pooled in another way than by the mean. bert has expected.jsonl: texts and their embeddings, as `vkformer embed` writes
them.
"""
import os

import tokenizers
import torch
import transformers
from safetensors.torch import save_file

from shared import (POSITIONS, REAL_VOCAB, TEXTS, VOCAB, contiguous, randomise, stored_in, write_json, write_lines)

# Sizes that nothing divides, and one head dimension that is no multiple of 4.
FAMILIES = {
    "bert": (transformers.BertConfig, transformers.BertModel, dict(
        hidden_size=36, num_attention_heads=4, intermediate_size=52, num_hidden_layers=2, type_vocab_size=2,
        hidden_act="gelu", layer_norm_eps=1e-12)),
    "bert-blocks": (transformers.BertConfig, transformers.BertModel, dict(  # sizes that can be quantised
        hidden_size=64, num_attention_heads=4, intermediate_size=96, num_hidden_layers=1, type_vocab_size=2,
        hidden_act="gelu", layer_norm_eps=1e-12)),
    "roberta": (transformers.RobertaConfig, transformers.RobertaForMaskedLM, dict(
        hidden_size=40, num_attention_heads=5, intermediate_size=33, num_hidden_layers=1, type_vocab_size=1,
        hidden_act="gelu_new", layer_norm_eps=1e-5, pad_token_id=1)),
    "camembert": (transformers.CamembertConfig, transformers.CamembertModel, dict(
        hidden_size=20, num_attention_heads=2, intermediate_size=23, num_hidden_layers=1, type_vocab_size=1,
        hidden_act="gelu", layer_norm_eps=1e-5, pad_token_id=5)),
    "bert-decoder": (transformers.BertConfig, transformers.BertModel, dict(
        hidden_size=20, num_attention_heads=2, intermediate_size=23, num_hidden_layers=2, type_vocab_size=1,
        hidden_act="gelu", layer_norm_eps=1e-12, is_decoder=True)),
    "distilbert": (transformers.DistilBertConfig, transformers.DistilBertModel, dict(
        dim=30, n_heads=3, hidden_dim=41, n_layers=2, activation="relu")),
    "modernbert": (transformers.ModernBertConfig, transformers.ModernBertModel, dict(  # the window is 4 to each side
        hidden_size=36, num_attention_heads=2, intermediate_size=41, num_hidden_layers=3, global_attn_every_n_layers=2,
        local_attention=8, pad_token_id=0, bos_token_id=1, cls_token_id=1, eos_token_id=2, sep_token_id=2)),
}
# As the families' base models have it, with two layers.
REAL_BERT = dict(hidden_size=768, num_attention_heads=12, intermediate_size=3072, num_hidden_layers=2)
REAL = {
    "bert": dict(REAL_BERT, type_vocab_size=2, hidden_act="gelu", layer_norm_eps=1e-12, max_position_embeddings=512),
    "roberta": dict(REAL_BERT, type_vocab_size=1, hidden_act="gelu", layer_norm_eps=1e-5, pad_token_id=1,
                    max_position_embeddings=514),
    "distilbert": dict(dim=768, n_heads=12, hidden_dim=3072, n_layers=2, activation="gelu", max_position_embeddings=512),
    "modernbert": dict(
        hidden_size=768, num_attention_heads=12, intermediate_size=1152, num_hidden_layers=3, global_attn_every_n_layers=3,
        local_attention=128, max_position_embeddings=8192, pad_token_id=0, bos_token_id=1, cls_token_id=1, eos_token_id=2,
        sep_token_id=2),
}
POOLING = {"bert": ("pooling_mode_mean_tokens", True), "roberta": ("pooling_mode_cls_token", False)}
SHAPES = [(1, 1), (3, 7), (2, 33)]  # batch, length


def make_model(family, seed, real=False):
    config_class, model_class, sizes = FAMILIES[family]
    torch.manual_seed(seed)
    # Positions there count from behind the padding token.
    extra = FAMILIES[family][2]["pad_token_id"] + 1 if family in ("roberta", "camembert") else 0
    sizes = REAL[family] if real else dict(sizes, max_position_embeddings=POSITIONS + extra)
    model = model_class(config_class(vocab_size=REAL_VOCAB if real else VOCAB, **sizes)).eval()
    if real:
        randomise(model, seed)
        return model
    with torch.no_grad():
        for name, parameter in model.named_parameters():  # as large as trained ones, norms and biases not idle
            norm = name.endswith("weight") and parameter.dim() == 1
            parameter.copy_((1.0 if norm else 0.0) + 0.25 * torch.randn_like(parameter))
    return model


def pool(family, hidden, lengths):
    mode, normalise = POOLING.get(family, ("pooling_mode_mean_tokens", False))
    rows = [h[0] if mode == "pooling_mode_cls_token" else h[:n].mean(0) for h, n in zip(hidden, lengths.tolist())]
    pooled = torch.stack(rows)
    return torch.nn.functional.normalize(pooled, dim=1) if normalise else pooled


def make_cases(family, model, seed):
    base = getattr(model, model.base_model_prefix, model).double()
    types = getattr(model.config, "type_vocab_size", 0)
    generator = torch.Generator().manual_seed(seed)
    cases = {}
    for i, (batch, length) in enumerate(SHAPES):
        ids = torch.randint(3, model.config.vocab_size, (batch, length), generator=generator)
        lengths = torch.randint(1, length + 1, (batch,), generator=generator)
        lengths[0] = length
        valid = torch.arange(length)[None, :] < lengths[:, None]
        if family == "camembert":
            ids = torch.where(ids % 4 == 0, model.config.pad_token_id, ids)
        ids = torch.where(valid, ids, torch.full_like(ids, model.config.pad_token_id))
        token_types = torch.randint(0, max(types, 1), (batch, length), generator=generator)
        words = {"input_ids": ids, "attention_mask": valid.long()}
        if types:
            words["token_type_ids"] = token_types
        with torch.no_grad():
            hidden = base(**words).last_hidden_state * valid[:, :, None]
        cases.update({
            "%d.ids" % i: ids.int(), "%d.types" % i: token_types.int(), "%d.lengths" % i: lengths.int(),
            "%d.hidden" % i: hidden.float(), "%d.embeddings" % i: pool(family, hidden, lengths).float()})
    return contiguous(cases)


def make_tokenizer(more=()):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(TEXTS, tokenizers.trainers.WordPieceTrainer(
        vocab_size=VOCAB, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", *more], show_progress=False))
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def write_texts(family, model, tokenizer, directory):
    tokenizer.save(os.path.join(directory, "tokenizer.json"))
    tokenizer.enable_truncation(POSITIONS)
    lines = []
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        with torch.no_grad():
            hidden = model(torch.tensor([ids])).last_hidden_state
        embedding = pool(family, hidden, torch.tensor([len(ids)]))[0].tolist()
        lines.append({"text": text, "tokens": len(ids), "embedding": [round(x, 9) for x in embedding]})
    write_lines(os.path.join(directory, "expected.jsonl"), lines)


def write_pooling(family, directory):
    if family not in POOLING:
        return
    mode, normalise = POOLING[family]
    parts = [("", "Transformer"), ("1_Pooling", "Pooling")] + ([("2_Normalize", "Normalize")] if normalise else [])
    write_json(os.path.join(directory, "modules.json"), [
        {"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models." + name}
        for i, (path, name) in enumerate(parts)])
    modes = ("pooling_mode_cls_token", "pooling_mode_mean_tokens", "pooling_mode_max_tokens")
    write_json(os.path.join(directory, "1_Pooling", "config.json"), {name: name == mode for name in modes})


def write(family, out, options):
    directory = os.path.join(out, family)
    model = make_model(family, options.seed, options.real)
    stored_in(model, options.dtype).save_pretrained(directory, safe_serialization=True)
    write_pooling(family, directory)
    if family == "bert" and not options.real:
        write_texts(family, model.double(), make_tokenizer(), directory)
    save_file(make_cases(family, model, options.seed), os.path.join(directory, "cases.safetensors"))
