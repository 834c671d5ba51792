"""Random models as sentence-transformers saves them, and what it makes of texts in float64.

Each directory has expected.jsonl, texts and their embeddings as `vkformer embed` writes them, and variants.json: what becomes of
the texts there when a key of one of the JSON files has another value, or is not there, or with options of the program. A
variant has "embeddings", where they are others than those of the directory as it is, or, in "refused", a part of the message.
"no_effect" says of every key that is not varied why
it changes nothing.

sentence-mean is what 5.4 and later write for the usual model, sentence-modules has every module, sentence-prompt pools without
its prompts, and sentence-older is in the layout of the first versions, with the Transformer in a directory of its own.
"""
import contextlib
import copy
import io
import json
import os
import shutil
import tempfile

import tokenizers
import torch
import transformers
from safetensors.torch import save_file

from encoders import make_tokenizer
from shared import POSITIONS, TEXTS, VOCAB, write_json, write_lines

FAMILIES = ("sentence-mean", "sentence-modules", "sentence-prompt", "sentence-older")
WIDTH, DENSE = 32, 24
SIZES = dict(vocab_size=VOCAB, hidden_size=WIDTH, num_attention_heads=4, intermediate_size=40, num_hidden_layers=1,
             type_vocab_size=2, max_position_embeddings=POSITIONS)
PROMPTS = {"query": "find the rain: ", "passage": "Text. ", "empty": ""}
LONG = "a cat sat on the mat and the rain fell on it " * 6
VARIED = ["The rain in Spain", LONG]
ABSENT = "(absent)"  # of a value: the key is not there

NO_EFFECT = {
    "idx": "the order is that of the list", "name": "nothing asks for a module by its name",
    "__version__": "what the files need is in their keys",
    "unpad_inputs": "padding changes nothing",
}


def make_base(seed, directory, lower_case=True, max_length=None):
    """A BERT and its tokenizer as transformers saves them."""
    torch.manual_seed(seed)
    model = transformers.BertModel(transformers.BertConfig(**SIZES), add_pooling_layer=False).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            norm = name.endswith("weight") and parameter.dim() == 1
            parameter.copy_((1.0 if norm else 0.0) + 0.25 * torch.randn_like(parameter))
    model.save_pretrained(directory, safe_serialization=True)
    tokenizer = make_tokenizer(["[MASK]"])
    if not lower_case:
        tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=False)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]",
        mask_token="[MASK]", **({"model_max_length": max_length} if max_length else {}))
    fast.save_pretrained(directory)


def random_weights(module, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator) + (parameter.dim() == 1))
    return module


def new_model(family, base, seed):
    """As sentence-transformers has it in memory."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Dropout, LayerNorm, Pooling
    first = Transformer(base)
    if family == "sentence-mean":
        return SentenceTransformer(modules=[first, Pooling(WIDTH, "mean"), Normalize()])
    if family == "sentence-prompt":
        return SentenceTransformer(
            modules=[first, Pooling(WIDTH, ["weightedmean", "cls"], include_prompt=False)], prompts=dict(PROMPTS),
            default_prompt_name="query", similarity_fn_name="dot", truncate_dim=2 * WIDTH - 5)
    modes = ["lasttoken", "mean", "max"]
    return SentenceTransformer(modules=[
        first, Pooling(WIDTH, modes), Dropout(0.1),
        random_weights(Dense(len(modes) * WIDTH, DENSE, activation_function=torch.nn.GELU()), seed + 1),
        random_weights(LayerNorm(DENSE), seed + 2), Normalize(),
        random_weights(Dense(DENSE, WIDTH, bias=False, activation_function=torch.nn.Tanh()), seed + 3)])


def write_older(directory, base, seed):
    """As version 0.3 wrote it, but for the format of the weights."""
    modules = [("0_Transformer", "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense")]
    write_json(os.path.join(directory, "modules.json"), [
        {"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models." + name}
        for i, (path, name) in enumerate(modules)])
    write_json(os.path.join(directory, "config.json"), {"__version__": "0.3.8"})
    for name in os.listdir(base):
        os.makedirs(os.path.join(directory, "0_Transformer"), exist_ok=True)
        shutil.copy(os.path.join(base, name), os.path.join(directory, "0_Transformer", name))
    write_json(os.path.join(directory, "0_Transformer", "sentence_bert_config.json"),
               {"max_seq_length": 9, "do_lower_case": True})
    write_json(os.path.join(directory, "1_Pooling", "config.json"), {
        "word_embedding_dimension": WIDTH, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True,
        "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": True})
    write_json(os.path.join(directory, "2_Dense", "config.json"), {
        "in_features": 2 * WIDTH, "out_features": DENSE, "bias": True,
        "activation_function": "torch.nn.modules.linear.Identity"})
    dense = random_weights(torch.nn.Linear(2 * WIDTH, DENSE), seed + 1)
    save_file({"linear.weight": dense.weight.detach(), "linear.bias": dense.bias.detach()},
              os.path.join(directory, "2_Dense", "model.safetensors"))


# ---- what is varied: file, key (a list for one within another), value, and a part of the message where it is refused

POOLING = [("1_Pooling/config.json", *rest) for rest in (
    ("pooling_mode", "cls"), ("pooling_mode", "max"), ("pooling_mode", "mean"), ("pooling_mode", "mean_sqrt_len_tokens"),
    ("pooling_mode", "weightedmean"), ("pooling_mode", "lasttoken"), ("pooling_mode", ["max"]), ("pooling_mode", ABSENT),
    ("pooling_mode", "median", "pooling_mode"), ("pooling_mode", [], "pooling_mode"), ("pooling_mode", 3, "pooling_mode"),
    ("include_prompt", False), ("include_prompt", ABSENT), ("include_prompt", "no", "include_prompt"),
    ("embedding_dimension", 31, "embedding_dimension"), ("another", 1, "another"))]
SETTINGS = [("config_sentence_transformers.json", *rest) for rest in (
    ("prompts", {"a": "the cat "}), ("prompts", {}), ("prompts", {"a": 3}, "prompt"), ("prompts", ABSENT),
    ("default_prompt_name", "document"), ("default_prompt_name", None), ("default_prompt_name", ABSENT),
    ("default_prompt_name", "none", "default_prompt_name"), ("default_prompt_name", 3, "default_prompt_name"),
    ("truncate_dim", 7), ("truncate_dim", 1000), ("truncate_dim", None), ("truncate_dim", ABSENT),
    ("truncate_dim", 0, "truncate_dim"), ("truncate_dim", "7", "truncate_dim"),
    ("similarity_fn_name", "euclidean"), ("similarity_fn_name", None), ("similarity_fn_name", ABSENT),
    ("similarity_fn_name", "maxsim", "similarity_fn_name"), ("model_type", ABSENT),
    ("model_type", "CrossEncoder"), ("model_type", "SparseEncoder", "SparseEncoder"), ("another", 1))]
TEXT = [("sentence_bert_config.json", *rest) for rest in (
    ("max_seq_length", 5), ("max_seq_length", 20), ("max_seq_length", None), ("max_seq_length", 0, "max_seq_length"),
    ("do_lower_case", True), ("do_lower_case", "yes", "do_lower_case"),
    ("transformer_task", "fill-mask", "transformer_task"), ("transformer_task", ABSENT),
    ("module_output_name", "sentence_embedding", "module_output_name"),
    (["modality_config", "text", "method_output_name"], "pooler_output", "method_output_name"),
    (["modality_config", "text", "method"], "get_text_features", "method"),
    (["modality_config", "image"], {"method": "forward", "method_output_name": "x"}, "image"),
    ("processing_kwargs", {"text": {"max_length": 6}}, "processing_kwargs"), ("processing_kwargs", ABSENT),
    ("unpad_inputs", False), ("query_length", 4, "query_length"), ("document_length", 4, "document_length"),
    ("query_expansion", {"length": 4}, "query_expansion"), ("model_args", {"a": 1}, "model_args"), ("model_args", {}),
    ("tokenizer_args", {"model_max_length": 6}, "tokenizer_args"), ("config_args", {"a": 1}, "config_args"),
    ("tokenizer_name_or_path", "x", "tokenizer_name_or_path"), ("another", 1, "another"))]
LENGTHS = [("tokenizer_config.json", *rest) for rest in (
    ("model_max_length", 6), ("model_max_length", 1000000000000000019884624838656), ("model_max_length", 48),
    ("model_max_length", ABSENT), ("truncation_side", "left"))]
MODULES = [("modules.json", *rest) for rest in (
    ([1, "type"], "sentence_transformers.sentence_transformer.modules.bow.BoW", "BoW"),
    ([1, "type"], "own.Pooling", "own.Pooling"),
    ([0, "type"], "own_code.Transformer", "own_code.Transformer"), ([1, "path"], "../1_Pooling", "path"),
    ([1, "path"], "none", "none/config.json"), ([1, "kwargs"], ["task"]), ([2, "path"], "none"))]
NORMALIZE = [("2_Normalize/config.json", *rest) for rest in (
    ("module_input_name", "token_embeddings", "module_input_name"), ("module_input_name", ABSENT),
    ("module_output_name", "other", "module_output_name"), ("module_output_name", ABSENT))]
DENSE_KEYS = [("3_Dense/config.json", *rest) for rest in (
    ("activation_function", "torch.nn.modules.activation.Tanh"), ("activation_function", "torch.nn.modules.activation.ReLU"),
    ("activation_function", "torch.nn.modules.activation.SiLU"), ("activation_function", "torch.nn.modules.linear.Identity"),
    ("activation_function", ABSENT), ("activation_function", "torch.nn.modules.activation.Softsign", "Softsign"),
    ("activation_function", "own.Tanh", "own.Tanh"), ("in_features", 95, "in_features"),
    ("out_features", 23, "dimension"), ("bias", False, "linear.bias"), ("bias", ABSENT),
    ("module_input_name", "token_embeddings", "module_input_name"), ("module_output_name", "x", "module_output_name"),
    ("use_residual", True, "use_residual"), ("another", 1, "another"))] + [
    ("4_LayerNorm/config.json", "dimension", 23, "dimension"), ("4_LayerNorm/config.json", "another", 1, "another"),
    ("2_Dropout/config.json", "dropout", 0.9), ("modules.json", [1, "type"], "sentence_transformers.models.Dense", "Pooling")]
OLDER = [("1_Pooling/config.json", *rest) for rest in (
    ("pooling_mode_cls_token", True, "in_features"), ("pooling_mode_mean_tokens", False, "in_features"),
    ("pooling_mode_max_tokens", True, "in_features"), ("pooling_mode_mean_sqrt_len_tokens", False, "in_features"),
    ("pooling_mode_mean_tokens", "yes", "pooling_mode_mean_tokens"), ("word_embedding_dimension", 31, "word_embedding_dimension"),
    ("pooling_mode", ["weightedmean", "lasttoken"]))] + [
    ("0_Transformer/sentence_bert_config.json", "max_seq_length", None),
    ("0_Transformer/sentence_bert_config.json", "max_seq_length", 4),
    ("0_Transformer/sentence_bert_config.json", "do_lower_case", False),
    ("0_Transformer/sentence_bert_config.json", "do_lower_case", ABSENT),
    ("2_Dense/config.json", "in_features", 32, "in_features"), ("2_Dense/config.json", "out_features", 8, "linear.weight"),
    ("2_Dense/config.json", "bias", False, "linear.bias"), ("2_Dense/config.json", "activation_function", ABSENT)]
WITH_PROMPTS = ("pooling_mode", "include_prompt", "prompts", "default_prompt_name")
EDITS = {
    "sentence-mean": POOLING + SETTINGS + TEXT + LENGTHS + MODULES + NORMALIZE,
    "sentence-modules": DENSE_KEYS,
    "sentence-prompt": [edit for edit in POOLING + SETTINGS if len(edit) == 3 and edit[1] in WITH_PROMPTS],
    "sentence-older": OLDER,
}
ARGUMENTS = {
    "sentence-mean": [{"truncate_dim": 7}, {"prompt": "the cat "}, {"prompt_name": "query"}],
    "sentence-modules": [],
    "sentence-prompt": [{"prompt_name": "passage"}, {"prompt_name": "empty"}, {"prompt": ""}, {"prompt": LONG},
                        {"truncate_dim": 3}, {"prompt_name": "document"}],
    "sentence-older": [],
}


def edit(directory, name, key, value):
    path = os.path.join(directory, name)
    with open(path, encoding="utf-8") as f:
        root = json.load(f)
    keys = key if isinstance(key, list) else [key]
    place = root
    for step in keys[:-1]:
        place = place[step]
    if value == ABSENT:
        place.pop(keys[-1], None)
    else:
        place[keys[-1]] = value
    write_json(path, root)


def embed(directory, texts, **arguments):
    from sentence_transformers import SentenceTransformer
    with contextlib.redirect_stderr(io.StringIO()):
        model = SentenceTransformer(directory, device="cpu", local_files_only=True).double()
    rows = model.encode(texts, convert_to_numpy=True, batch_size=1, show_progress_bar=False, **arguments)
    prompt = model._resolve_prompt(arguments.get("prompt"), arguments.get("prompt_name")) or ""
    counts = [len(model.preprocess([prompt + text])["input_ids"][0]) for text in texts]
    return rows, counts, model


def digits(rows):
    return [[float("%.7g" % value) for value in row] for row in rows]


def keep_embeddings(variant, unvaried, rows):
    if rows.shape != unvaried.shape or abs(rows - unvaried).max() > 1e-9:
        variant["embeddings"] = digits(rows)


def make_variants(family, directory):
    variants = []
    unvaried = embed(directory, VARIED)[0]
    for name, key, value, *refused in EDITS[family]:
        variant = {"file": name, "key": key, "value": value}
        with tempfile.TemporaryDirectory() as work:
            changed = os.path.join(work, "model")
            shutil.copytree(directory, changed)
            edit(changed, name, copy.deepcopy(key), value)
            if refused:
                variant["refused"] = refused[0]
            else:
                keep_embeddings(variant, unvaried, embed(changed, VARIED)[0])
        variants.append(variant)
    for arguments in ARGUMENTS[family]:
        variants.append({"arguments": arguments})
        keep_embeddings(variants[-1], unvaried, embed(directory, VARIED, **arguments)[0])
    return {"texts": VARIED, "embeddings": digits(unvaried), "no_effect": NO_EFFECT, "variants": variants}


def write(family, out, options):
    directory = os.path.join(out, family)
    seed = options.seed + FAMILIES.index(family)
    with tempfile.TemporaryDirectory() as base:
        make_base(seed, base, lower_case=family != "sentence-older", max_length=11 if family == "sentence-mean" else None)
        if family == "sentence-older":
            write_older(directory, base, seed)
        else:
            new_model(family, base, seed).save(directory, create_model_card=False)
    texts = TEXTS + [LONG]
    rows, counts, model = embed(directory, texts)
    with torch.no_grad():
        similarities = model.similarity(rows, rows)
    write_lines(os.path.join(directory, "expected.jsonl"), [
        {"text": text, "tokens": count, "embedding": [round(float(x), 9) for x in row]}
        for text, count, row in zip(texts, counts, rows)])
    write_json(os.path.join(directory, "similarities.json"), digits(similarities.tolist()))
    with open(os.path.join(directory, "variants.json"), "w", encoding="utf-8") as f:
        json.dump(make_variants(family, directory), f, separators=(",", ":"))
        f.write("\n")
