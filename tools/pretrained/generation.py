"""What generate() of transformers adds to prompts, from models whose texts say something.

i.greedy: (B, 12) I32 with do_sample=False; i.beam, of cases 1 and 2: with BEAM; and of these cases, where it is no tie, what
other options give, i.NAME with OTHERS[NAME]. Behind an end token is padding. What generation_config.json has
besides is in force. Nothing of it is a tie: it stays when noise is added to the logits.
"""
import copy

import torch
import transformers

from shared import stored_in

NEW_TOKENS = 12
BEAM_CASES = (1, 2)
BEAM = dict(num_beams=3, length_penalty=0.8, early_stopping=True)
OTHERS = {
    "penalty": dict(repetition_penalty=1.5),
    "beam_off": dict(num_beams=2, length_penalty=1.3, early_stopping=False),
    "beam_never": dict(num_beams=4, length_penalty=2.0, early_stopping="never", repetition_penalty=1.5),
    "beam_short": dict(num_beams=4, length_penalty=-0.5, early_stopping=False),
}
ATTEMPTS = 100
SPECIAL = 4  # ids below it are not for texts


class Noise(transformers.LogitsProcessor):
    """More than any float32 arithmetic is off by."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, input_ids, scores):
        return scores + 1e-3 * torch.randn(scores.shape, generator=self.generator, dtype=scores.dtype)


def fresh(model):
    """Dynamic rope scaling remembers the lengths that it has seen."""
    config = model.config
    scaling = getattr(config, "rope_scaling", None) or getattr(config, "rope_parameters", None) or {}
    return copy.deepcopy(model) if scaling.get("rope_type") == "dynamic" else model


def tokens_behind(model, row, noise=None, **options):
    """Tokens behind a row of tokens, up to an end token. Beam search puts others behind that."""
    processors = transformers.LogitsProcessorList([] if noise is None else [Noise(noise)])
    with torch.no_grad():
        out = fresh(model).generate(
            row[None], attention_mask=torch.ones_like(row[None]), do_sample=False, max_new_tokens=NEW_TOKENS,
            min_new_tokens=0, pad_token_id=model.config.pad_token_id, logits_processor=processors, **options)[0]
    out = out[1 if model.config.is_encoder_decoder else len(row):]
    end = model.generation_config.eos_token_id
    ends = torch.isin(out, torch.tensor([] if end is None else end)).int()
    return out[ends.cumsum(0) - ends == 0]


def continue_row(model, row, noise=None, **options):
    """The same, padded to NEW_TOKENS."""
    out = tokens_behind(model, row, noise, **options)
    return torch.nn.functional.pad(out, (0, NEW_TOKENS - len(out)), value=model.config.pad_token_id)


def generate(model, rows, **options):
    """(B, NEW_TOKENS), or None where noise changes what is generated."""
    out = []
    for row in rows:
        out.append(continue_row(model, row, **options))
        if not all(torch.equal(out[-1], continue_row(model, row, noise, **options)) for noise in (1, 2)):
            return None
    return torch.stack(out)


def swap_tokens(model, a, b):
    vocab = model.get_output_embeddings().weight.shape[0]
    with torch.no_grad():
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if tensor.dim() == 2 and tensor.shape[0] == vocab:
                tensor[[a, b]] = tensor[[b, a]]
            elif name == "final_logits_bias":
                tensor[:, [a, b]] = tensor[:, [b, a]]


def make_end_frequent(model, prompts):
    """Gives the end token's rows to a token that greedy generation comes to, but not at once."""
    model.generation_config.eos_token_id, end = None, model.generation_config.eos_token_id
    rows = [continue_row(model, row).tolist() for rows in prompts for row in rows]
    model.generation_config.eos_token_id = end
    late = [token for row in rows for token in set(row[2:]) - set(row[:2])]
    late = [token for token in late if token >= SPECIAL and token != model.config.pad_token_id]
    if late:
        swap_tokens(model, end if isinstance(end, int) else end[0], max(sorted(set(late)), key=late.count))


def says_something(model, generated, variety):
    """Some of the texts end early, few at once, and they are not all the same token again and again."""
    pad = model.config.pad_token_id
    rows = [row.tolist() for name, tokens in generated.items() if name.endswith("greedy") for row in tokens]
    lengths = [sum(token != pad for token in row) for row in rows]
    ended = sum(1 < n < NEW_TOKENS for n in lengths)
    return (0 < ended < len(rows) and lengths.count(1) < 2 and all(pad not in row[:n] for row, n in zip(rows, lengths))
            and len({token for row in rows for token in row}) > variety)


def generate_all(model, prompts, variety):
    """{name: tokens}, or None where one of them is a tie or they say too little."""
    out = {}
    for i, rows in enumerate(prompts):
        out["%d.greedy" % i] = generate(model, rows)
        if i in BEAM_CASES:
            out["%d.beam" % i] = generate(model, rows, **BEAM)
        if any(tokens is None for tokens in out.values()):
            return None
    if not says_something(model, out, variety):
        return None
    for i in BEAM_CASES:
        for name, options in OTHERS.items():
            tokens = generate(model, prompts[i], **options)
            if tokens is not None:
                out["%d.%s" % (i, name)] = tokens
    return {name: tokens.int() for name, tokens in out.items()}


def text_tokens(model, ids, **options):
    """What follows a text's tokens, for expected.jsonl; None where it is a tie."""
    row = torch.tensor(ids)
    tokens = tokens_behind(model, row, **options)
    if not all(torch.equal(tokens, tokens_behind(model, row, noise, **options)) for noise in (1, 2)):
        return None
    return tokens.tolist()


def stopped_by(model, ids, beam, tokenizer, decode):
    """A part of what beams say that changes what they say when it stops them, and what that is."""
    text = decode(beam)
    for length in (3, 2, 1):
        for begin in range(1, len(text) - length):
            stop = text[begin:begin + length]
            # transformers puts texts of tokens together, the first one's blank included, and knows no parts of characters.
            if stop[0].isspace() or not stop.isascii():
                continue
            # What generate(stop_strings=, tokenizer=) makes; with that, 4.57 hands the tokenizer to the model.
            stops = transformers.StoppingCriteriaList([transformers.StopStringCriteria(tokenizer, [stop])])
            tokens = text_tokens(model, ids, stopping_criteria=stops, **BEAM)
            if tokens is not None and tokens != beam and tokens != beam[:len(tokens)]:
                return {"stop": stop, "stopped": tokens, "stopped_text": decode(tokens).split(stop)[0]}
    return {}


def beam_of(model, ids, tokenizer, decode):
    """What BEAM makes of a text's tokens, without and with a stop string; nothing where it is a tie."""
    beam = text_tokens(model, ids, **BEAM)
    return {} if beam is None else {"beam": beam, **stopped_by(model, ids, beam, tokenizer, decode)}


def make_telling(make, what, dtype, variety=NEW_TOKENS):
    """Calls make(attempt), which gives (model, prompts, [rows of each case]), until the model says something.

    Returns the model as it is to be saved, the same in float64, the prompts, and what it generates."""
    for attempt in range(ATTEMPTS):
        model, prompts, rows = make(attempt)
        make_end_frequent(model, rows)
        saved = stored_in(model, dtype)
        cases = generate_all(model, rows, variety)
        if cases:
            print("%s: attempt %d" % (what, attempt + 1))
            return saved, model, prompts, cases
    raise SystemExit("%s: no model says something" % what)
