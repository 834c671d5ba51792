"""transformers on PyTorch's CPU: texts to sentence embeddings, their tokens' mean, normalised."""
import torch
import transformers

from . import checks


class Peer:
    def __init__(self, threads):
        torch.set_num_threads(threads)
        self.version = "transformers %s, torch %s" % (transformers.__version__, torch.__version__)
        self.device = "%d threads" % threads
        self.loaded = {}

    def load(self, directory):
        if directory not in self.loaded:
            self.loaded[directory] = (transformers.AutoTokenizer.from_pretrained(directory),
                                      transformers.AutoModel.from_pretrained(directory, dtype=torch.float32).eval())
        return self.loaded[directory]

    def prepare(self, work):
        if work.get("phase") != "embed":
            raise RuntimeError("has no such operation")
        tokenizer, model = self.load(work["model"])
        texts = [work["text"]] * work["batch"]
        tokens = tokenizer(texts, return_tensors="pt")["input_ids"].shape[1]
        if tokens != work["len"]:
            raise RuntimeError("makes %d tokens of %d" % (tokens, work["len"]))

        @torch.inference_mode()
        def run():
            inputs = tokenizer(texts, return_tensors="pt", padding=True)
            hidden = model(**inputs).last_hidden_state  # (B, L, d_model)
            mask = inputs["attention_mask"].unsqueeze(-1)
            mean = (hidden * mask).sum(1) / mask.sum(1)
            torch.nn.functional.normalize(mean, dim=-1).numpy()

        return checks.Runner(run)
