"""LoRA adapters of Hugging Face's PEFT for models that make-models has written to OUT before: llama-adapter, gpt2-adapter and
bert-sequence-classification-adapter, with random matrices, and what PEFT and transformers compute with them in float64.

Each directory has adapter_config.json and adapter_model.safetensors, as PEFT writes them, and cases.safetensors: 0.ids (B, T)
as I32 and 0.logits as F32; for decoders (B, T, V), and 0.greedy (B, N) with the tokens that follow; for BERT 0.types (B, T),
too, and (B, labels).
"""
import os

import torch
import transformers
from safetensors.torch import save_file

from shared import VOCAB

BATCH, LENGTH, NEW_TOKENS = 2, 9, 6

# Weights of all shapes; ranks and scales of their own; a projection that is tied to the words' table; an embedding's.
FAMILIES = {
    "llama-adapter": ("llama", transformers.AutoModelForCausalLM, dict(
        task_type="CAUSAL_LM", r=4, lora_alpha=6, use_rslora=True,
        target_modules=["q_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "embed_tokens"],
        rank_pattern={"down_proj": 2, "layers.1.self_attn.q_proj": 3}, alpha_pattern={r"^model\.layers\.0\.mlp\.up_proj": 3})),
    "gpt2-adapter": ("gpt2", transformers.AutoModelForCausalLM, dict(
        task_type="CAUSAL_LM", r=3, lora_alpha=4, bias="all", fan_in_fan_out=True,
        target_modules=["c_attn", "c_proj", "wpe", "lm_head"])),
    "bert-sequence-classification-adapter": (
        "bert-sequence-classification", transformers.AutoModelForSequenceClassification, dict(
            task_type="SEQ_CLS", r=2, lora_alpha=2, bias="lora_only", target_modules=r".*\.(query|value|word_embeddings)",
            modules_to_save=["classifier"])),
}


def make_model(family, out, options):
    import peft
    base, model_class, settings = FAMILIES[family]
    model = model_class.from_pretrained(os.path.join(out, base), dtype=torch.float32)
    config = peft.LoraConfig(base_model_name_or_path=base, **settings)
    model = peft.get_peft_model(model, config).eval()
    torch.manual_seed(options.seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.copy_(0.3 * torch.randn_like(parameter))
    return model


def greedy(model, ids):
    for _ in range(NEW_TOKENS):
        ids = torch.cat([ids, model(input_ids=ids).logits[:, -1:].argmax(-1)], 1)
    return ids[:, -NEW_TOKENS:]


def make_case(family, model, options):
    generator = torch.Generator().manual_seed(options.seed)
    ids = torch.randint(3, VOCAB, (BATCH, LENGTH), generator=generator)
    case = {"0.ids": ids.int()}
    words = {"input_ids": ids}
    if family.startswith("bert"):
        words["token_type_ids"] = torch.randint(0, 2, (BATCH, LENGTH), generator=generator)
        case["0.types"] = words["token_type_ids"].int()
    with torch.no_grad():
        case["0.logits"] = model(**words).logits.float().contiguous()
        if not family.startswith("bert"):
            case["0.greedy"] = greedy(model, ids).int().contiguous()
    return case


def write(family, out, options):
    directory = os.path.join(out, family)
    model = make_model(family, out, options)
    model.save_pretrained(directory)
    readme = os.path.join(directory, "README.md")
    if os.path.exists(readme):
        os.remove(readme)
    save_file(make_case(family, model.double(), options), os.path.join(directory, "cases.safetensors"))
