"""The attention weights of models that tools/pretrained/make-models has made.

attention.safetensors holds of one case, its number being i: i.encoder (layers, B, H, S, S), i.decoder (layers, B, H, T, T) and
i.cross (layers, B, H, T, S), as far as the family has them, as F32; of each row by itself, without its padding, whose
weights are zeros.
"""
import os

import torch
import transformers
from safetensors.torch import load_file, save_file

# The case of each, the kind of its model, and what its outputs call the weights.
ENCODERS, DECODERS, SEQ2SEQ = ("bert", "modernbert"), ("gpt2", "mistral", "qwen3"), ("marian", "t5")
FAMILIES = {
    **{family: (1, transformers.AutoModel, {"encoder": "attentions"}) for family in ENCODERS},
    **{family: (2, transformers.AutoModelForCausalLM, {"decoder": "attentions"}) for family in DECODERS},
    **{family: (2, transformers.AutoModelForSeq2SeqLM, {
        "encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"})
       for family in SEQ2SEQ},
}


def words_of(cases, number, row):
    """What a model reads of one row without its padding, and where that begins."""
    def of(name):
        return cases.get("%d.%s" % (number, name))

    ids = of("ids")[row].long()
    begin = int(of("starts")[row]) if of("starts") is not None else 0
    end = int(of("lengths")[row]) if of("lengths") is not None else len(ids)
    words = {"input_ids": ids[None, begin:end]}
    if of("types") is not None and int(of("types").max()) > 0:
        words["token_type_ids"] = of("types")[row].long()[None, begin:end]
    if of("decoder_ids") is not None:
        words["decoder_input_ids"] = of("decoder_ids")[row].long()[None]
    return words, begin


def write(family, out):
    if family not in FAMILIES:
        return
    directory = os.path.join(out, family)
    number, kind, names = FAMILIES[family]
    cases = load_file(os.path.join(directory, "cases.safetensors"))
    model = kind.from_pretrained(directory, attn_implementation="eager", dtype=torch.float64).eval()
    batch, length = cases["%d.ids" % number].shape
    target = cases["%d.decoder_ids" % number].shape[1] if "cross" in names else length
    sizes = {"encoder": (length, length), "decoder": (target, target), "cross": (target, length)}
    weights = {}
    for row in range(batch):
        words, begin = words_of(cases, number, row)
        with torch.no_grad():
            given = model(**words, output_attentions=True)
        for name, key in names.items():
            rows = torch.stack(getattr(given, key))[:, 0]  # (layers, H, L, S)
            whole = weights.setdefault("%d.%s" % (number, name), torch.zeros(
                rows.shape[0], batch, rows.shape[1], *sizes[name], dtype=torch.float64))
            whole[:, row, :, begin:begin + rows.shape[2], begin:begin + rows.shape[3]] = rows
    save_file({name: tensor.float().contiguous() for name, tensor in weights.items()},
              os.path.join(directory, "attention.safetensors"))
