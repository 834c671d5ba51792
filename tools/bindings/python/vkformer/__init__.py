"""Transformers on Vulkan compute.

Arrays come in as NumPy arrays or as anything with DLPack or the array interface whose memory the processor sees, as
PyTorch's CPU tensors. They go out as NumPy arrays, which have `__dlpack__`. What fails raises `Error` with the
library's sentence. Python's other threads run while the library works.
"""
from .attention import MultiheadAttention
from .context import Context
from .embedder import Embedder, Prediction
from .errors import Error, library_version
from .generator import Continuation, Generator, TextStream
from .model import Encoded, Generated, Model, Session
from .tensor import Tensor
from .tokenizer import Encoding, Tokenizer
from .trainer import Batch, Trainer
from .transformer import TransformerDecoderLayer, TransformerEncoderLayer

__version__ = library_version()

__all__ = ["Batch", "Context", "Continuation", "Embedder", "Encoded", "Encoding", "Error", "Generated", "Generator",
           "MultiheadAttention", "Prediction", "Session", "Tensor", "TextStream", "Tokenizer", "Trainer",
           "TransformerDecoderLayer", "TransformerEncoderLayer"]
