"""A random cross-encoder as sentence-transformers saves it, and how it ranks documents in float64.

expected.jsonl has queries, documents, and what CrossEncoder.rank() says of them. variants.json has what it says where a key of
one of the JSON files has another value, or is not there, of the first query.
"""
import contextlib
import copy
import io
import json
import os
import shutil
import tempfile

import transformers

from encoders import make_tokenizer
from sentence import ABSENT, SIZES, edit
from shared import POSITIONS, TEXTS, randomise, write_lines

FAMILIES = ("sentence-reranker",)
QUERIES = ["rain on the hills", "Who was warned?", "unbelievable " * 40]
DOCUMENTS = [*TEXTS, "A cat sat there.", "the cat"]  # one of them twice: equal scores keep their order
SIGMOID, IDENTITY = ("torch.nn.modules.activation.Sigmoid", "torch.nn.modules.linear.Identity")
EDITS = [
    ("config_sentence_transformers.json", ["activation_fn"], IDENTITY),
    ("config_sentence_transformers.json", ["activation_fn"], SIGMOID),
    ("config_sentence_transformers.json", ["activation_fn"], ABSENT),
    ("config_sentence_transformers.json", ["activation_fn"], "own.module.Sigmoid"),
    ("config_sentence_transformers.json", ["prompts"], {"query": "the rain: ", "document": "a cat "}),
    ("config.json", ["sentence_transformers"], {"activation_fn": IDENTITY}),
    ("config.json", ["sbert_ce_default_activation_function"], IDENTITY),
]


def rank(directory, query):
    from sentence_transformers import CrossEncoder
    with contextlib.redirect_stderr(io.StringIO()):
        model = CrossEncoder(directory, device="cpu", local_files_only=True).double()
        found = model.rank(query, DOCUMENTS, batch_size=1)
    return [{"index": int(place["corpus_id"]), "score": float(place["score"])} for place in found]


def make_variants(directory):
    variants = []
    for name, key, value in EDITS:
        with tempfile.TemporaryDirectory() as work:
            changed = os.path.join(work, "model")
            shutil.copytree(directory, changed)
            if name == "config.json":  # which alone counts where the other file has none
                edit(changed, "config_sentence_transformers.json", ["activation_fn"], ABSENT)
            if key == ["prompts"]:
                edit(changed, name, ["default_prompt_name"], "query")
            edit(changed, name, copy.deepcopy(key), value)
            variants.append({"file": name, "key": key, "value": value, "ranked": rank(changed, QUERIES[0])})
    return variants


def write(family, out, options):
    from sentence_transformers import CrossEncoder
    directory = os.path.join(out, family)
    config = transformers.BertConfig(**SIZES, num_labels=1)
    model = transformers.BertForSequenceClassification(config).eval()
    randomise(model, options.seed)
    with tempfile.TemporaryDirectory() as base, contextlib.redirect_stderr(io.StringIO()):
        model.save_pretrained(base, safe_serialization=True)
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=make_tokenizer(), pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
            model_max_length=POSITIONS, model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        ).save_pretrained(base)
        CrossEncoder(base, device="cpu").save_pretrained(directory, create_model_card=False)
    write_lines(os.path.join(directory, "expected.jsonl"), [
        {"query": query, "documents": DOCUMENTS, "ranked": rank(directory, query)} for query in QUERIES])
    with open(os.path.join(directory, "variants.json"), "w", encoding="utf-8") as f:
        json.dump(make_variants(directory), f, separators=(",", ":"))
        f.write("\n")
