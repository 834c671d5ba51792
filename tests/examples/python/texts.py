"""texts.py SENTENCE-MODEL DECODER: how alike two sentences are, and a text that is printed as it is generated."""
import sys

import numpy as np

import vkformer

sentence_model, decoder = sys.argv[1:]
embedder = vkformer.Embedder(sentence_model)
first, second = embedder.encode(["The small grey cat sat on the warm stone wall.", "A cat sat there."])
print(f"cosine: {first @ second / np.linalg.norm(first) / np.linalg.norm(second):.4f}")

generator = vkformer.Generator(decoder)
for part in generator.stream("A cat sat there.", max_new_tokens=12):
    print(part, end="", flush=True)
print()
