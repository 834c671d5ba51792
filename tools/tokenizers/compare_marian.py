"""Marian's tokenizers for tools/tokenizers/compare-tokenizers: pairs of SentencePiece models, as transformers'
MarianTokenizer reads them. Needs transformers and sentencepiece."""
import io
import json
import logging
import os
import warnings

import sentencepiece
from transformers import MarianTokenizer

CODES = [">>deu<<", ">>por_BR<<"]
SPECIALS = ["</s>", "<unk>", "<pad>", "<s>", ">>deu<<", ">>xyz<<", ">>", "<<", "▁", "▁▁", "<0xE2>", "Wide One"]
# As the models of OPUS have it, and what else there is.
KINDS = {
    "marian": dict(normalization_rule_name="nmt_nfkc"),
    "marian-nfkc_cf": dict(normalization_rule_name="nfkc_cf", user_defined_symbols=["Wide One", "é"],
                           treat_whitespace_as_suffix=True),
    "marian-blanks": dict(normalization_rule_name="nfkc", remove_extra_whitespaces=False),
    "marian-plain": dict(normalization_rule_name="identity", byte_fallback=True, remove_extra_whitespaces=False,
                         add_dummy_prefix=False),
}


def train(lines, **options):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=out, model_type="unigram", vocab_size=2500, hard_vocab_limit=False,
        character_coverage=1.0, minloglevel=2, **options)
    return out.getvalue()


def pieces_of(model):
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size())]


def write_directory(directory, source, target, random):
    """The ids are those of both languages' pieces in any order; a few pieces have none."""
    os.makedirs(directory, exist_ok=True)
    pieces = sorted(set(pieces_of(source)) | set(pieces_of(target)) - {"<unk>", "<s>", "</s>"})
    pieces = [piece for piece in pieces if piece not in ("<unk>", "<s>", "</s>") and random.random() < 0.97]
    random.shuffle(pieces)
    tokens = ["</s>", "<unk>", *pieces, *CODES, "<pad>"]
    with open(os.path.join(directory, "vocab.json"), "w", encoding="utf-8") as f:
        json.dump({token: i for i, token in enumerate(tokens)}, f, ensure_ascii=False)
    for name, model in (("source.spm", source), ("target.spm", target)):
        with open(os.path.join(directory, name), "wb") as f:
            f.write(model)


class Encoding:
    def __init__(self, ids):
        self.ids = ids


class Adapter:
    """A MarianTokenizer with the functions of `tokenizers` that the comparison calls."""

    def __init__(self, directory):
        warnings.simplefilter("ignore")
        logging.getLogger("transformers").setLevel(logging.ERROR)  # about texts longer than models take
        self.tokenizer = MarianTokenizer.from_pretrained(directory)
        self.truncation = {}

    def encode(self, *texts, add_special_tokens=True):
        return Encoding(self.tokenizer(*texts, add_special_tokens=add_special_tokens, **self.truncation)["input_ids"])

    def decode(self, ids, skip_special_tokens):
        return self.tokenizer.decode(ids, skip_special_tokens=skip_special_tokens, use_source_tokenizer=False,
                                     clean_up_tokenization_spaces=False)

    def no_padding(self):
        pass

    def no_truncation(self):
        self.truncation = {}

    def enable_truncation(self, max_length):
        self.truncation = dict(truncation=True, max_length=max_length)


def make_tokenizers(corpus, random, directory):
    """Yields (name, adapter, special tokens, directory)."""
    for name, options in KINDS.items():
        path = os.path.join(directory, name)
        half = len(corpus) // 2
        few = [line for line in corpus if max(line) < "\u3400"]
        write_directory(path, train(few[:half], **options), train(few[half - 400:], **options), random)
        yield name, Adapter(path), SPECIALS, path
