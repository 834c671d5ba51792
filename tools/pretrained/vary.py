"""tools/pretrained/make-models --vary PROGRAM: does vkformer follow every key of a model's configuration?

For every family, each key of transformers' configuration class has other values than the usual, one key at a time, and is
left out of config.json, whose default then holds; the same with the model's class, and with each key of
generation_config.json. transformers makes a random model with it and loads it again in float64; `vkformer run` or `vkformer
embed` runs the same directory. The outcome is one of

  equal     the same logits or embedding, and the same tokens behind a prompt
  refused   vkformer does not run the directory, and says why
  neither   transformers does not run it
  warned    of generation_config.json: a warning names the key
  listed    in LISTED, with the reason why the key does not matter

and anything else is an error: exit 1. `*` marks a value that changes what transformers computes.
"""
import copy
import inspect
import json
import os
import shutil
import subprocess
import tempfile

import tokenizers
import torch
import transformers
from safetensors import safe_open

from shared import randomise

WORDS = 101
PROMPT = [7, 23, 41, 9, 88, 15, 60, 33, 12]
NEW_TOKENS = 6
TOLERANCE = 3e-4  # of the largest value; float32 is within 1e-5, and T5's RMSNorm within 1.2e-4
LOGITS = ("lm_head", "embed_out", "score", "classifier", "classifier.out_proj", "qa_outputs", "cls.predictions.decoder",
          "lm_head.decoder", "vocab_projector", "decoder", "logits")

BERT = dict(hidden_size=20, num_attention_heads=2, intermediate_size=23, num_hidden_layers=2, max_position_embeddings=40)
LLAMA = dict(hidden_size=40, num_attention_heads=4, num_key_value_heads=2, intermediate_size=44, num_hidden_layers=2,
             max_position_embeddings=48)
BART = dict(d_model=36, encoder_layers=1, decoder_layers=2, encoder_attention_heads=3, decoder_attention_heads=2,
            encoder_ffn_dim=41, decoder_ffn_dim=52, max_position_embeddings=48)
# The configuration class, sizes beside vocab_size, and the class that is run where the class itself is not what varies.
FAMILIES = {
    "bert": ("BertConfig", BERT, "BertForMaskedLM"),
    "roberta": ("RobertaConfig", BERT, "RobertaForMaskedLM"),
    "xlm-roberta": ("XLMRobertaConfig", BERT, "XLMRobertaForSequenceClassification"),
    "camembert": ("CamembertConfig", BERT, "CamembertModel"),
    "distilbert": ("DistilBertConfig", dict(dim=20, n_heads=2, hidden_dim=23, n_layers=2, max_position_embeddings=40),
                   "DistilBertForMaskedLM"),
    "modernbert": ("ModernBertConfig", dict(BERT, num_hidden_layers=4, local_attention=6, pad_token_id=0),
                   "ModernBertForSequenceClassification"),
    "gpt2": ("GPT2Config", dict(n_embd=30, n_head=3, n_layer=2, n_positions=40), "GPT2LMHeadModel"),
    "gpt_neox": ("GPTNeoXConfig", dict(hidden_size=48, num_attention_heads=3, intermediate_size=41, num_hidden_layers=2,
                                       max_position_embeddings=40), "GPTNeoXForCausalLM"),
    "llama": ("LlamaConfig", LLAMA, "LlamaForCausalLM"),
    "mistral": ("MistralConfig", dict(LLAMA, sliding_window=5), "MistralForCausalLM"),
    "qwen2": ("Qwen2Config", LLAMA, "Qwen2ForCausalLM"),
    "qwen3": ("Qwen3Config", dict(LLAMA, head_dim=10), "Qwen3ForCausalLM"),
    "t5": ("T5Config", dict(d_model=36, d_kv=10, d_ff=41, num_layers=2, num_decoder_layers=2, num_heads=4,
                            decoder_start_token_id=0), "T5ForConditionalGeneration"),
    "bart": ("BartConfig", BART, "BartForConditionalGeneration"),
    "marian": ("MarianConfig", dict(BART, pad_token_id=100, decoder_start_token_id=100, eos_token_id=0),
               "MarianMTModel"),
}
ACTIVATIONS = ["relu", "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "silu", "swish", "tanh", "quick_gelu", "mish"]
IDS = [None, -1, 5, 90, 5000]
ROPE = [{"rope_type": "linear", "factor": 2.0}, {"rope_type": "dynamic", "factor": 3.0},
        {"rope_type": "yarn", "factor": 3.0, "original_max_position_embeddings": 6},
        {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
         "original_max_position_embeddings": 6}]
# Values by key; those of other keys follow from the default's type.
VALUES = {
    **{key: ACTIVATIONS for key in ("hidden_act", "activation_function", "activation", "hidden_activation",
                                    "classifier_activation")},
    **{key: IDS for key in ("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id",
                            "decoder_start_token_id", "forced_bos_token_id", "forced_eos_token_id")},
    "feed_forward_proj": ["relu", "gated-gelu", "gated-silu", "gelu", "gated-relu"],
    "rope_parameters": [dict(rope, rope_theta=500.0) for rope in [{"rope_type": "default"}, *ROPE]],
    "rope_scaling": ROPE,
    "rope_theta": [500.0], "rotary_emb_base": [500.0], "rotary_pct": [0.5, 1.0],
    "global_rope_theta": [500.0], "local_rope_theta": [500.0, None],
    "global_attn_every_n_layers": [1, 2],
    "classifier_pooling": ["cls", "mean"],
    "position_embedding_type": ["absolute", "relative_key"],
    "id2label": [{0: "a", 1: "b", 2: "c"}, {0: "a"}], "num_labels": [3, 1],
    "problem_type": ["regression", "multi_label_classification"],
    "sliding_window": [4, None], "max_window_layers": [0, 1], "local_attention": [2, 4],
    "vocab_size": [WORDS + 7], "decoder_vocab_size": [WORDS + 7],
    "hidden_size": [24, 48], "n_embd": [36], "dim": [24], "d_model": [48],
    "num_attention_heads": [1, 4], "n_head": [2, 5], "n_heads": [4], "num_heads": [2],
    "encoder_attention_heads": [2], "decoder_attention_heads": [3],
    "num_key_value_heads": [1, 4, None], "head_dim": [6, 16, None], "d_kv": [6], "n_inner": [33, None],
    "type_vocab_size": [1, 3], "max_position_embeddings": [44, 16], "n_positions": [44, 16],
    "attn_implementation": [], "dtype": ["float32", "float16"],
    "architectures": [], "model_type": [], "transformers_version": [], "label2id": [], "name_or_path": [],
    "per_layer_config": [], "return_dict": [], "output_hidden_states": [], "output_attentions": [],
    "is_encoder_decoder": [],
}
# What older versions of transformers write, and newer ones read, too.
OLDER = {
    "modernbert": ("global_rope_theta", "local_rope_theta", "global_attn_every_n_layers"),
    "gpt_neox": ("rotary_emb_base", "rotary_pct", "rope_scaling"),
    **{family: ("rope_theta", "rope_scaling") for family in ("llama", "mistral", "qwen2", "qwen3")},
    **{family: ("num_labels", ) for family in ("bert", "xlm-roberta")},
    "bart": ("forced_bos_token_id", ), "t5": ("decoder_start_token_id", ),
}
# Of generation_config.json. None of it is drawn by chance: that is compared by its distribution, elsewhere.
GENERATION = {
    "max_new_tokens": [3], "max_length": [14, 5], "min_length": [4, 14], "min_new_tokens": [5], "num_beams": [3, 100],
    "length_penalty": [3.0], "early_stopping": [True, "never"], "repetition_penalty": [1.7], "no_repeat_ngram_size": [2],
    "encoder_no_repeat_ngram_size": [2], "encoder_repetition_penalty": [1.5], "bad_words_ids": [[[3]], [[3, 5]]],
    "suppress_tokens": [[3, 9]], "begin_suppress_tokens": [[3]], "forced_bos_token_id": [9], "forced_eos_token_id": [9],
    "eos_token_id": IDS + [[5, 90]], "pad_token_id": IDS, "bos_token_id": IDS, "decoder_start_token_id": [9],
    "exponential_decay_length_penalty": [[2, 1.5]], "sequence_bias": [[[[5], 20.0]]], "guidance_scale": [1.5],
    "typical_p": [0.5], "top_k": [3], "top_p": [0.5], "min_p": [0.5], "temperature": [0.5], "epsilon_cutoff": [0.01],
    "eta_cutoff": [0.01], "top_h": [0.5], "renormalize_logits": [True], "remove_invalid_values": [True],
    "num_return_sequences": [1], "diversity_penalty": [0.0], "num_beam_groups": [1], "penalty_alpha": [0.0],
    "use_cache": [False], "stop_strings": [["t5"]], "max_time": [100.0], "token_healing": [False],
}
GENERATION_FAMILIES = ("llama", "gpt2", "bart", "t5", "marian")
# (family or "*", key): why an outcome that is not transformers' is right nevertheless.
LISTED = {}


# ---- what varies

def family_of(name):
    config_class, sizes, model_class = FAMILIES[name]
    return getattr(transformers, config_class), dict(sizes, vocab_size=WORDS), getattr(transformers, model_class)


def keys_of(config_class):
    """Keys and their defaults."""
    defaults = config_class().to_dict()
    for name, parameter in inspect.signature(config_class.__init__).parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            defaults.setdefault(name, parameter.default)
    return {key: value for key, value in defaults.items() if not key.startswith("_")}


def values_of(family, key, default, usual):
    sizes = FAMILIES[family][1]
    if key == "layer_types":
        layers = sizes["num_hidden_layers"]
        return [["sliding_attention", "full_attention"] * (layers // 2), ["full_attention", "sliding_attention"] * (layers // 2)]
    if key == "rope_parameters" and family == "modernbert":
        return [{"full_attention": rope, "sliding_attention": dict(rope, rope_theta=200.0)} for rope in VALUES[key][:4]]
    if key in VALUES:
        return [value for value in VALUES[key] if value != usual]
    if isinstance(default, bool):
        return [not usual if isinstance(usual, bool) else not default]
    if isinstance(default, int):
        return [usual + 1 if isinstance(usual, int) else default + 1]
    if isinstance(default, float):
        return [0.3]
    return [1, True] if default is None else []


def classes_of(family):
    """Every class that the family has."""
    config_class = family_of(family)[0]
    module = inspect.getmodule(family_of(family)[2])
    classes = [value for name, value in vars(module).items()
               if inspect.isclass(value) and issubclass(value, transformers.PreTrainedModel) and
               getattr(value, "config_class", None) is config_class and not name.endswith("PreTrainedModel")]
    return [value for value in classes if hasattr(transformers, value.__name__)]


# ---- directories

def write_tokenizer(directory, words):
    """t0, t1, ...: a text says its ids."""
    model = tokenizers.models.WordLevel({"t%d" % i: i for i in range(words)}, unk_token="t3")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.save(os.path.join(directory, "tokenizer.json"))


def make_directory(directory, model_class, config):
    torch.manual_seed(1)
    model = model_class(config).eval()
    randomise(model, 3, keep=("embed_positions",) if config.model_type == "marian" else ())
    if getattr(model, "generation_config", None) is not None:
        for key in ("eos_token_id", "bos_token_id", "pad_token_id", "decoder_start_token_id"):
            setattr(model.generation_config, key, getattr(config, key, None))
    try:
        model.save_pretrained(directory)
    finally:
        write_tokenizer(directory, min(WORDS, getattr(config, "vocab_size", WORDS)))


def edit_json(directory, name, change):
    path = os.path.join(directory, name)
    with open(path, encoding="utf-8") as f:
        values = json.load(f)
    change(values)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(values, f)


# ---- what transformers says

def expected_of(directory, model_class, prompt):
    """Logits, or an embedding, and new tokens, as far as the class has them."""
    model = model_class.from_pretrained(directory, dtype=torch.float64).double().eval()
    ids = torch.tensor([prompt])
    words = dict(input_ids=ids, attention_mask=torch.ones_like(ids))
    if model_class.__name__.endswith("ForQuestionAnswering"):  # a question, and the same as the text with the answer
        words = {name: torch.cat([value, value], 1) for name, value in words.items()}
        if getattr(model.config, "type_vocab_size", 1) > 1:
            words["token_type_ids"] = torch.cat([torch.zeros_like(ids), torch.ones_like(ids)], 1)
    if not model_class.__name__.endswith(("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "MTModel")):
        with torch.no_grad():
            out = model(**words)
        if "start_logits" in out:
            return torch.stack([out.start_logits, out.end_logits], -1)[0], None
        return (out.logits[0], None) if "logits" in out else (out.last_hidden_state[0].mean(0), None)
    fresh = copy.deepcopy(model)
    with torch.no_grad():
        if model.config.is_encoder_decoder:
            words["decoder_input_ids"] = torch.tensor([[model.generation_config.decoder_start_token_id]])
        logits = model(**words).logits[0, -1]
        words.pop("decoder_input_ids", None)
        out = fresh.generate(**words, **OPTIONS)[0]
    out = out[1 if model.config.is_encoder_decoder else len(prompt):].tolist()
    ends = fresh.generation_config.eos_token_id
    ends = [] if ends is None else ends if isinstance(ends, list) else [ends]
    end = next((i + 1 for i, token in enumerate(out) if token in ends), len(out))
    return logits, out[:end]


OPTIONS = dict(do_sample=False, max_new_tokens=NEW_TOKENS)


# ---- what vkformer says

def read_logits(dump):
    for name in sorted(os.listdir(dump)):
        with safe_open(os.path.join(dump, name), "pt") as f:
            found = [key for key in f.keys() if key in LOGITS]
            if found:
                return f.get_tensor(found[0])
    return None


def run_program(program, directory, prompt, generates, embeds, options):
    """Exit code, logits or embedding, tokens, messages."""
    text = " ".join("t%d" % token for token in prompt)
    dump = os.path.join(directory, "dump")
    command = [program, "embed" if embeds else "run", directory, text]
    if not embeds:
        command += ["--json", "--dump", dump, *options, *(["--pair", text] if generates is None else [])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        return done.returncode, None, None, done.stderr
    answer = json.loads(done.stdout)
    if embeds:
        return 0, torch.tensor(answer["embedding"]), None, done.stderr
    return 0, read_logits(dump), answer.get("tokens") if generates else None, done.stderr


def near(got, expected):
    if got is None or got.numel() == 0:
        return False
    got, expected = got.double().flatten(), expected.double().flatten()
    return len(got) == len(expected) and bool((got - expected).abs().max() <= TOLERANCE * (1e-6 + expected.abs().max()))


# ---- outcomes

class Outcomes:
    def __init__(self, program, verbose):
        self.program, self.verbose, self.wrong, self.counts, self.usual = program, verbose, [], {}, {}

    def add(self, family, what, key, outcome, effect, detail):
        if outcome == "WRONG" and ((family, key) in LISTED or ("*", key) in LISTED):
            outcome = "listed"
        if what == "config: as it is" and outcome != "equal":  # or nothing else says anything
            outcome = "WRONG"
        self.counts[outcome] = self.counts.get(outcome, 0) + 1
        if outcome == "WRONG":
            self.wrong.append((family, what))
        if self.verbose or outcome == "WRONG":
            print("%-12s %-52s %-8s%s %s" % (family, what[:52], outcome, "*" if effect else " ", detail), flush=True)

    def compare(self, family, what, key, directory, model_class, prompt, options=("--max-new-tokens", str(NEW_TOKENS))):
        name = model_class.__name__
        answers = name.endswith("ForQuestionAnswering")
        generates = None if answers else name.endswith(("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "MTModel"))
        embeds = name.endswith("Model") and not generates
        try:
            logits, tokens = expected_of(directory, model_class, prompt)
        except Exception as error:  # whatever a library says to a configuration that it does not take
            logits, tokens, reason = None, None, "%s: %s" % (type(error).__name__, " ".join(str(error).split())[:90])
        code, got, got_tokens, messages = run_program(
            self.program, directory, prompt, generates, embeds, options if generates else ())
        usual = self.usual.setdefault((family, name, what.split(":")[0]), (logits, tokens))
        effect = logits is not None and usual[0] is not None and (not near(logits, usual[0]) or tokens != usual[1])
        said = " ".join(messages.split())
        if code not in (0, 1):
            self.add(family, what, key, "WRONG", effect, "exit code %d: %s" % (code, said[:200]))
        elif code == 1:
            self.add(family, what, key, "refused" if logits is not None else "neither", effect, said[:150])
        elif logits is None:
            self.add(family, what, key, "neither", effect, reason)
        elif near(got, logits) and (not generates or got_tokens == tokens):
            self.add(family, what, key, "equal", effect, "")
        elif "warning" in messages and key in messages:
            self.add(family, what, key, "warned", effect, "")
        else:
            self.add(family, what, key, "WRONG", effect, "%s, expected %s" % (got_tokens, tokens) if near(got, logits) else
                     "other logits %s" % ("" if got is None else tuple(got.shape)))


def vary(outcomes, family, work, what, key, sizes, model_class, change=None, prompt=PROMPT):
    """One configuration, made by transformers, and what is changed in its files."""
    config_class = family_of(family)[0]
    directory = os.path.join(work, "model")
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    try:
        make_directory(directory, model_class, config_class(**sizes))
        if change:
            change(directory)
    except Exception as error:  # as above
        outcomes.add(family, what, key, "neither", False, "%s: %s" % (type(error).__name__, " ".join(str(error).split())[:90]))
        return
    outcomes.compare(family, what, key, directory, model_class, prompt)


def without(key):
    def change(directory):
        edit_json(directory, "config.json", lambda values: values.pop(key, None))
    return change


def having(key, value):
    def change(directory):
        edit_json(directory, "config.json", lambda values: values.update({key: value}))
    return change


def vary_family(outcomes, family, work):
    config_class, sizes, model_class = family_of(family)
    vary(outcomes, family, work, "config: as it is", "", sizes, model_class)
    for token in (0, 1, 5):
        vary(outcomes, family, work, "text: with token %d" % token, "text", sizes, model_class,
             prompt=[7, token, 23, token, 41])
    for key, default in keys_of(config_class).items():
        usual = sizes.get(key, default)
        for value in values_of(family, key, default, usual):
            vary(outcomes, family, work, "config: %s=%s" % (key, json.dumps(value)), key, {**sizes, key: value}, model_class)
        if key not in ("model_type", "id2label", "label2id"):
            given = {**sizes, key: default}
            if default is None:
                given.pop(key)
            vary(outcomes, family, work, "config: no %s" % key, key, given, model_class, without(key))
    for key in OLDER.get(family, ()):
        for value in VALUES[key]:
            def change(directory, key=key, value=value):
                edit_json(directory, "config.json", lambda values: [values.pop(name, None) for name in (
                    "rope_parameters", "layer_types" if key == "global_attn_every_n_layers" else "")])
                having(key, value)(directory)
            vary(outcomes, family, work, "older: %s=%s" % (key, json.dumps(value)), key, sizes, model_class, change)
    for other in classes_of(family):
        for tied in (True, False):
            vary(outcomes, family, work, "class: %s%s" % (other.__name__, "" if tied else ", untied"), "architectures",
                 {**sizes, "tie_word_embeddings": tied, "pad_token_id": sizes.get("pad_token_id", 1)}, other)


def vary_generation(outcomes, family, work):
    _, sizes, model_class = family_of(family)
    directory = os.path.join(work, "generation")
    usual = dict(max_new_tokens=NEW_TOKENS)
    OPTIONS.clear()
    for older in (False, True):
        for key, values in [("", [None]), *GENERATION.items()]:
            for value in values:
                shutil.rmtree(directory, ignore_errors=True)
                os.makedirs(directory)
                make_directory(directory, model_class, family_of(family)[0](**sizes))
                given = dict(usual, **({key: value} if key else {}))
                if key == "max_length":
                    given.pop("max_new_tokens")
                if key in ("length_penalty", "early_stopping"):
                    given["num_beams"] = 3

                def change(values, given=given):
                    values.update(given)
                edit_json(directory, "config.json" if older else "generation_config.json", change)
                if older:
                    os.remove(os.path.join(directory, "generation_config.json"))
                outcomes.compare(family, "%s: %s=%s" % ("older generation" if older else "generation", key, json.dumps(value)),
                                 key, directory, model_class, PROMPT, ())
    OPTIONS.update(do_sample=False, max_new_tokens=NEW_TOKENS)


def main(program, families, verbose):
    """The exit code."""
    unknown = [family for family in families if family not in FAMILIES]
    if unknown:
        raise SystemExit("no family %s; there are %s" % (unknown[0], ", ".join(FAMILIES)))
    outcomes = Outcomes(program, verbose)
    with tempfile.TemporaryDirectory() as work:
        for family in families:
            vary_family(outcomes, family, work)
            if family in GENERATION_FAMILIES:
                vary_generation(outcomes, family, work)
    print("transformers %s: %s" % (transformers.__version__, ", ".join(
        "%s %d" % item for item in sorted(outcomes.counts.items()))))
    return 1 if outcomes.wrong else 0
