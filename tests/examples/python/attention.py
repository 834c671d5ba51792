"""Self attention under a causal mask, from parameters by the names of torch.nn.MultiheadAttention."""
import numpy as np

import vkformer

DIM, HEADS = 64, 4
identity = np.eye(DIM, dtype=np.float32)
# In your program this is module.state_dict(), or what safetensors' load_file() gives.
state_dict = {"in_proj_weight": np.concatenate([0.5 * identity, 0.5 * identity, identity]), "out_proj.weight": identity}

attention = vkformer.MultiheadAttention(state_dict, HEADS, batch_first=True)
query = (np.arange(2 * 5 * DIM, dtype=np.float32) % 13 / 13).reshape(2, 5, DIM)
output, weights = attention(query, query, query, is_causal=True)
print("output[0, 0, :3] =", *(f"{number:.4f}" for number in output[0, 0, :3]))
print("weights:", weights.shape, "above the diagonal:", np.triu(weights, 1).sum())
