"""Random encoders with heads: bert, roberta, distilbert and modernbert, each with sequence-classification,
token-classification, question-answering and masked-lm, in directories FAMILY-HEAD.

cases.safetensors holds 0.ids, 0.types (B, S) and 0.lengths (B) as I32, and as F32 0.logits: (B, labels), (B, S, labels) or
(B, S, V); of question-answering 0.start_logits and 0.end_logits (B, S). Zeros where there is padding.
"""
import os
import random

import torch
import transformers
from safetensors.torch import save_file

from pretrained_shared import POSITIONS, VOCAB, contiguous, randomise

BATCH, LENGTH = 3, 9
HEADS = {
    "sequence-classification": "ForSequenceClassification",
    "token-classification": "ForTokenClassification",
    "question-answering": "ForQuestionAnswering",
    "masked-lm": "ForMaskedLM",
}


def bert(draw):
    return dict(hidden_size=20, num_attention_heads=2, intermediate_size=23, num_hidden_layers=1, type_vocab_size=2,
                hidden_act=draw.choice(["gelu", "relu", "gelu_new"]), max_position_embeddings=POSITIONS)


def roberta(draw):
    return dict(hidden_size=20, num_attention_heads=2, intermediate_size=23, num_hidden_layers=1, type_vocab_size=1,
                hidden_act="gelu", layer_norm_eps=1e-5, max_position_embeddings=POSITIONS + 2, pad_token_id=1)


def distilbert(draw):
    return dict(dim=20, n_heads=2, hidden_dim=23, n_layers=1, activation=draw.choice(["gelu", "relu"]),
                max_position_embeddings=POSITIONS)


def modernbert(draw):
    return dict(hidden_size=20, num_attention_heads=2, intermediate_size=23, num_hidden_layers=2,
                global_attn_every_n_layers=2, local_attention=6, max_position_embeddings=POSITIONS, pad_token_id=0,
                bos_token_id=1, cls_token_id=1, eos_token_id=2, sep_token_id=2,
                classifier_pooling=draw.choice(["cls", "mean"]), classifier_bias=draw.random() < 0.5,
                classifier_activation=draw.choice(["gelu", "relu"]), decoder_bias=draw.random() < 0.7,
                norm_bias=draw.random() < 0.3, attention_bias=draw.random() < 0.3, mlp_bias=draw.random() < 0.3)


ENCODERS = {
    "bert": ("Bert", bert), "roberta": ("Roberta", roberta), "distilbert": ("DistilBert", distilbert),
    "modernbert": ("ModernBert", modernbert),
}
FAMILIES = {"%s-%s" % (encoder, head): (encoder, head) for encoder in ENCODERS for head in HEADS}


def labels(head, seed):
    if head == "sequence-classification":
        kind = ("multi_label_classification", "single_label_classification", "regression")[seed % 3]
        names = ["grade"] if kind == "regression" else ["bad", "neutral", "good"]
        return dict(problem_type=kind, id2label=dict(enumerate(names)), label2id={n: i for i, n in enumerate(names)})
    if head == "token-classification":
        names = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
        return dict(id2label=dict(enumerate(names)), label2id={name: i for i, name in enumerate(names)})
    return {}


def make_model(family, seed):
    encoder, head = FAMILIES[family]
    draw = random.Random("%s %d" % (family, seed))
    prefix, sizes = ENCODERS[encoder]
    config = getattr(transformers, prefix + "Config")(vocab_size=VOCAB, **sizes(draw), **labels(head, seed))
    model = getattr(transformers, prefix + HEADS[head])._from_config(config, attn_implementation="sdpa").eval()
    randomise(model, seed)
    return model


def make_case(model, seed):
    generator = torch.Generator().manual_seed(seed)
    config = model.config
    lengths = torch.randint(1, LENGTH, (BATCH,), generator=generator)
    lengths[0] = LENGTH
    valid = torch.arange(LENGTH)[None, :] < lengths[:, None]
    ids = torch.where(valid, torch.randint(3, VOCAB, (BATCH, LENGTH), generator=generator), config.pad_token_id)
    types = torch.randint(0, getattr(config, "type_vocab_size", 1), (BATCH, LENGTH), generator=generator)
    words = dict(input_ids=ids, attention_mask=valid.long())
    if hasattr(config, "type_vocab_size"):
        words["token_type_ids"] = types
    with torch.no_grad():
        out = model(**words)
    case = {"0.ids": ids.int(), "0.types": types.int(), "0.lengths": lengths.int()}
    for name in ("logits", "start_logits", "end_logits"):
        values = out.get(name)
        if values is not None:
            per_token = values.shape[:2] == valid.shape
            padding = (~valid).reshape(*valid.shape, *[1] * (values.dim() - 2)) if per_token else torch.tensor(False)
            case["0." + name] = values.masked_fill(padding, 0).float()
    return contiguous(case)


def write(family, out, options):
    directory = os.path.join(out, family)
    model = make_model(family, options.seed)
    model.to(options.dtype).save_pretrained(directory, safe_serialization=True)
    save_file(make_case(model.double(), options.seed), os.path.join(directory, "cases.safetensors"))
