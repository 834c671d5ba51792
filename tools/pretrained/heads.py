"""Random encoders with heads: bert, roberta, distilbert and modernbert, each with sequence-classification,
token-classification, question-answering and masked-lm, in directories FAMILY-HEAD. Decoders with the first two: qwen2, whose
last row ends with its padding token, and gpt2.

cases.safetensors holds 0.ids, 0.types (B, S) and 0.lengths (B) as I32, and as F32 0.logits: (B, labels), (B, S, labels) or
(B, S, V); of question-answering 0.start_logits and 0.end_logits (B, S). Zeros where there is padding.

Those that PIPELINES names have a tokenizer, too, and in expected.jsonl what transformers' pipeline says of texts: text,
pair where there is one, and found.
"""
import os
import random

import tokenizers
import torch
import transformers
from safetensors.torch import save_file

from encoders import REAL, make_tokenizer
from shared import POSITIONS, REAL_VOCAB, TEXTS, VOCAB, contiguous, randomise, stored_in, write_lines

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


def qwen2(draw):
    return dict(hidden_size=20, num_attention_heads=2, num_key_value_heads=1, intermediate_size=23, num_hidden_layers=2,
                use_sliding_window=True, sliding_window=3, max_window_layers=1, max_position_embeddings=POSITIONS,
                tie_word_embeddings=True, pad_token_id=5)


def gpt2(draw):
    return dict(n_embd=20, n_head=2, n_layer=1, n_positions=POSITIONS, pad_token_id=0)


DECODERS = {"qwen2": ("Qwen2", qwen2), "gpt2": ("GPT2", gpt2)}
ENCODERS = {
    "bert": ("Bert", bert), "roberta": ("Roberta", roberta), "distilbert": ("DistilBert", distilbert),
    "modernbert": ("ModernBert", modernbert),
}
FAMILIES = {
    **{"%s-%s" % (encoder, head): (encoder, head) for encoder in ENCODERS for head in HEADS},
    **{"%s-%s" % (decoder, head): (decoder, head) for decoder in DECODERS for head in list(HEADS)[:2]},
}


PIPELINES = {
    "bert-sequence-classification": "text-classification", "bert-token-classification": "token-classification",
    "bert-question-answering": "question-answering", "bert-masked-lm": "fill-mask",
    "roberta-token-classification": "token-classification", "roberta-question-answering": "question-answering",
    "roberta-masked-lm": "fill-mask",
}
QUESTIONS = ["rain", "Who was warned?", "und [CLS] <s>?"]
CONTEXTS = [TEXTS[0], TEXTS[2], TEXTS[5], "The CAT, the cat; THE Cat. \U0001f408 the cat", " ".join(TEXTS[:3])]


def labels(head, seed):
    if head == "sequence-classification":
        kind = ("multi_label_classification", "single_label_classification", "regression")[seed % 3]
        names = ["grade"] if kind == "regression" else ["bad", "neutral", "good"]
        return dict(problem_type=kind, id2label=dict(enumerate(names)), label2id={n: i for i, n in enumerate(names)})
    if head == "token-classification":
        names = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
        return dict(id2label=dict(enumerate(names)), label2id={name: i for i, name in enumerate(names)})
    return {}


def make_model(family, seed, real=False):
    encoder, head = FAMILIES[family]
    draw = random.Random("%s %d" % (family, seed))
    prefix, sizes = {**ENCODERS, **DECODERS}[encoder]
    config = getattr(transformers, prefix + "Config")(
        vocab_size=REAL_VOCAB if real else VOCAB, **{**sizes(draw), **(REAL[encoder] if real else {})}, **labels(head, seed))
    model = getattr(transformers, prefix + HEADS[head])._from_config(config, attn_implementation="sdpa").eval()
    randomise(model, seed)
    return model


def make_case(model, seed):
    generator = torch.Generator().manual_seed(seed)
    config = model.config
    lengths = torch.randint(1, LENGTH, (BATCH,), generator=generator)
    lengths[0] = LENGTH
    valid = torch.arange(LENGTH)[None, :] < lengths[:, None]
    ids = torch.where(valid, torch.randint(3, config.vocab_size, (BATCH, LENGTH), generator=generator), config.pad_token_id)
    if config.model_type == "qwen2":
        ids[-1, lengths[-1] - 1] = config.pad_token_id
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
    model = make_model(family, options.seed, options.real)
    stored_in(model, options.dtype).save_pretrained(directory, safe_serialization=True)
    save_file(make_case(model, options.seed), os.path.join(directory, "cases.safetensors"))
    if family in PIPELINES and not options.real:
        write_texts(directory, model, family)


def word_piece_tokenizer(masks):
    """BERT's, as a tokenizer.json alone: its tokens have the usual names."""
    tokenizer = make_tokenizer(["[MASK]"] if masks else [])
    tokenizer.decoder = tokenizers.decoders.WordPiece()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]" if masks else None, model_max_length=POSITIONS)


def byte_level_tokenizer():
    """RoBERTa's, with all files that transformers writes. Longer texts than it says fall into windows."""
    models, pre_tokenizers, processors = tokenizers.models, tokenizers.pre_tokenizers, tokenizers.processors
    tokenizer = tokenizers.Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.train_from_iterator(TEXTS, tokenizers.trainers.BpeTrainer(
        vocab_size=VOCAB, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"], initial_alphabet=[],
        show_progress=False))
    tokenizer.post_processor = processors.RobertaProcessing(sep=("</s>", 2), cls=("<s>", 0), add_prefix_space=False)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", cls_token="<s>", sep_token="</s>",
        mask_token=transformers.AddedToken("<mask>", lstrip=True, special=True), model_max_length=36,
        clean_up_tokenization_spaces=True, model_input_names=["input_ids", "attention_mask"])


def inputs_of(pipeline_name, tokenizer):
    if pipeline_name == "question-answering":
        pairs = [(question, context) for context in CONTEXTS for question in QUESTIONS] + [(QUESTIONS[0], "  ")]
        return [{"question": question, "context": context} for question, context in pairs]
    texts = [*TEXTS[:4], TEXTS[5]]
    if pipeline_name != "fill-mask":
        return texts
    words = [text.split() for text in texts]
    return [" ".join([*line[:i], tokenizer.mask_token, *line[i + 1:]]) for i, line in enumerate(words)] + [
        "A %s sat %s, there ." % (tokenizer.mask_token, tokenizer.mask_token)]


def found(item):
    """As JSON can have it: scores are NumPy's."""
    if isinstance(item, list):
        return [found(part) for part in item]
    return {key: float(value) if key == "score" else value for key, value in item.items()}


def write_texts(directory, model, family):
    name = PIPELINES[family]
    word_pieces = family.startswith("bert-")
    tokenizer = word_piece_tokenizer(name == "fill-mask") if word_pieces else byte_level_tokenizer()
    if word_pieces:
        tokenizer.backend_tokenizer.save(os.path.join(directory, "tokenizer.json"))
    else:
        tokenizer.save_pretrained(directory)
    pipeline = transformers.pipeline(name, model=model, tokenizer=tokenizer,
                                     **({"top_k": None} if name == "text-classification" else {}))
    lines = []
    for given in inputs_of(name, tokenizer):
        if name == "question-answering":
            line = {"text": given["question"], "pair": given["context"], "found": found(pipeline(**given))}
        else:
            answer = found(pipeline([given])[0] if name == "text-classification" else pipeline(given))
            # One mask's candidates stand alone there.
            line = {"text": given, "found": [answer] if name == "fill-mask" and isinstance(answer[0], dict) else answer}
        lines.append(line)
    write_lines(os.path.join(directory, "expected.jsonl"), lines)
