"""Transformers on Vulkan compute.

Arrays come in as NumPy arrays or as anything with DLPack or the array interface whose memory the processor sees, as
PyTorch's CPU tensors, or as a `Tensor` on the device. Results are where the inputs are: on the device, PyTorch's, or
else NumPy's. What fails raises `Error` with the library's sentence. Python's other threads run while the library works.
"""
from .attention import MultiheadAttention
from .context import Context
from .directory import adapter_base, quantize
from .embedder import Embedder, Prediction
from .errors import Error, library_version
from .functional import (activate, argmax, concat, embedding, gather, layer_norm, linear, log_softmax, matmul,
                         rms_norm, rotary, rotary_table, scaled_dot_product_attention, scatter, softmax)
from .generator import Continuation, Generator, TextStream
from .int8 import dequantize_linear, matmul_int8, quantize_linear
from .model import Encoded, Generated, Model, Session
from .module import (ELU, GELU, Dropout, Embedding, Hardsigmoid, Hardswish, Identity, LayerNorm, LeakyReLU, Linear,
                     LogSoftmax, Mish, Module, ModuleDict, ModuleList, ReLU, RMSNorm, Sequential, Sigmoid, SiLU, Softmax,
                     Tanh, from_torch)
from .planning import Plan, plan
from .swapping import swap, swapped, unswap
from .tensor import Tensor, bfloat16, quantize_weight
from .tokenizer import Encoding, Tokenizer
from .trainer import Batch, Trainer
from .transformer import (Transformer, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder,
                          TransformerEncoderLayer)

__version__ = library_version()

__all__ = ["Batch", "Context", "Continuation", "Dropout", "ELU", "Embedder", "Embedding", "Encoded", "Encoding",
           "Error", "GELU", "Generated", "Generator", "Hardsigmoid", "Hardswish", "Identity", "LayerNorm", "LeakyReLU",
           "Linear", "LogSoftmax", "Mish", "Model", "Module", "ModuleDict", "ModuleList", "MultiheadAttention", "Plan",
           "Prediction", "RMSNorm", "ReLU", "Sequential", "Session", "SiLU", "Sigmoid", "Softmax", "Tanh", "Tensor",
           "TextStream", "Tokenizer", "Trainer", "Transformer", "TransformerDecoder", "TransformerDecoderLayer",
           "TransformerEncoder", "TransformerEncoderLayer", "activate", "adapter_base", "argmax", "bfloat16", "concat",
           "dequantize_linear", "embedding", "from_torch", "gather", "layer_norm", "linear", "log_softmax", "matmul",
           "matmul_int8", "plan", "quantize", "quantize_linear", "quantize_weight", "rms_norm", "rotary",
           "rotary_table", "scaled_dot_product_attention", "scatter", "softmax", "swap", "swapped", "unswap"]
