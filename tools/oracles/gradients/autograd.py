"""PyTorch's gradients of a case."""
import numpy as np
import torch

from . import compare, draws, solutions
from .attention import DecoderLayer, EncoderLayer, Mha, Sdpa, Transformer
from .files import Case
from .operators import (Activation, AdditiveAttention, CrossEntropy, Embedding, Gate, Gemm, LayerNorm, Permute, RmsNorm,
                        Softmax)

KINDS = {
    "gemm": Gemm, "layernorm": LayerNorm, "rmsnorm": RmsNorm, "softmax": Softmax, "permute": Permute, "sdpa": Sdpa,
    "additive_attention": AdditiveAttention, "mha": Mha, "encoder_layer": EncoderLayer, "decoder_layer": DecoderLayer,
    "transformer": Transformer, "cross_entropy": CrossEntropy, "activation": Activation, "gate": Gate,
    "embedding": Embedding,
}
# A value this near to where ReLU's derivative jumps may be on either side in float32, whose rounding reaches some 1e-6
# of values of size 1.
KINK = 1e-5
# A case for which float32 alone, in PyTorch or by the formulas, takes more of the tolerance than this is drawn again:
# it is what cancellation left, and would not tell a wrong kernel from a right one.
ROUNDING = 0.25
MAX_DRAWS = 1000


def tensors_of(case, dtype):
    """{name: tensor}, and the names of those that get a gradient."""
    kind = KINDS[case.config["of"]]
    tensors = {name: torch.from_numpy(array) for name, array in {**case.weights, **case.inputs}.items()}
    tensors = {name: t.to(dtype) if t.is_floating_point() else t for name, t in tensors.items()}
    leaves = [name for name, t in tensors.items() if t.is_floating_point() and not name.startswith("grad_")
              and (name in case.weights or kind.differentiable(case.config, name))]
    for name in leaves:
        tensors[name].requires_grad_()
    return tensors, leaves


def solve(case, dtype):
    """{name: float32 array}: outputs, and gradients of inputs and weights."""
    kind = KINDS[case.config["of"]]
    tensors, leaves = tensors_of(case, dtype)
    outputs = kind.forward(case.config, tensors)
    upstream = {name: tensors["grad_" + name] for name in outputs if "grad_" + name in case.inputs}
    gradients = torch.autograd.grad([outputs[name] for name in upstream], [tensors[name] for name in leaves],
                                    list(upstream.values()))
    results = {**outputs, **{"grad_" + name: gradient for name, gradient in zip(leaves, gradients)}}
    return {name: np.ascontiguousarray(t.detach().numpy().astype(np.float32)) for name, t in results.items()}


def draw_upstream(rng, case):
    kind = KINDS[case.config["of"]]
    with torch.no_grad():
        outputs = kind.forward(case.config, tensors_of(case, torch.float64)[0])
    for name, output in outputs.items():
        if kind.UPSTREAM is None or name in kind.UPSTREAM:
            case.inputs["grad_" + name] = draws.normal(rng, *output.shape)


def rounding(case):
    """How much of the tolerance float32 takes."""
    results = solve(case, torch.float32), solutions.solve(case)
    return max(compared.ratio for result in results for compared in compare.compare(case, result).values())


def draw(rng, of, index):
    """A case, or None when rounding would decide about it."""
    kind = KINDS[of]
    config, weights, inputs = kind.make(rng, index)
    case = Case(dict(config, kind="gradient", of=of, index=index, fully_masked=False), weights, inputs)
    if kind.kink(config, tensors_of(case, torch.float64)[0]) < KINK:
        return None
    draw_upstream(rng, case)
    case.expected = solve(case, torch.float64)
    assert all(np.isfinite(array).all() for array in case.expected.values())
    return case if rounding(case) <= ROUNDING else None


def make(of, seed, index):
    rng = draws.generator(of, seed, index)
    for _ in range(MAX_DRAWS):
        case = draw(rng, of, index)
        if case:
            case.config["seed"] = seed
            return case
    raise SystemExit("gradient: %s of seed %d, index %d: in %d draws PyTorch and the formulas never agree" % (
        of, seed, index, MAX_DRAWS))
