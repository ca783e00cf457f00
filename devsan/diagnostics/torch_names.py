"""torch's functions and methods that decide about devices, by what they do: for the doctor's reading of source and for
what a report reads of the lines that placed a tensor. What it does with operands: devsan/doctor/source/torch_names.
"""

from __future__ import annotations

# Create on the default device unless told. torch/_torch_docs.py names ``device`` among the arguments of each.
FACTORIES = frozenset({
    "zeros", "ones", "full", "empty", "rand", "randn", "randint", "randperm", "arange", "range", "linspace", "logspace",
    "eye", "tril_indices", "triu_indices", "hann_window", "hamming_window", "bartlett_window", "blackman_window",
    "kaiser_window", "empty_strided", "scalar_tensor",
})  # fmt: skip
# Create from data: where the data is, if it is a tensor; otherwise as factories do.
FROM_DATA = frozenset({"tensor", "as_tensor", "asarray"})
# Create on the CPU, always.
ON_CPU = frozenset({
    "from_numpy", "frombuffer", "Tensor", "FloatTensor", "DoubleTensor", "HalfTensor", "LongTensor", "IntTensor",
    "ShortTensor", "ByteTensor", "CharTensor", "BoolTensor", "BFloat16Tensor",
})  # fmt: skip
# Create where their operand is, as functions and as its methods.
LIKE = frozenset({"zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like", "randint_like"})
NEW = frozenset({"new_zeros", "new_ones", "new_empty", "new_full", "new_tensor"})

# Copy a tensor to another device, or move a module; those of backends that DevSan does not emulate among them.
MOVES = frozenset({"to", "cuda", "cpu", "xpu", "hpu", "npu"})
MODULE_MOVES = MOVES | {"to_empty"}
# Methods of tensors alone, whose results are where the tensor is.
STAYING = frozenset({
    "abs", "argmax", "argmin", "argsort", "bfloat16", "bool", "clamp", "clone", "contiguous", "cos", "cumsum", "detach",
    "diagonal", "div", "double", "exp", "expand", "flatten", "float", "half", "index_select", "int", "log",
    "log_softmax", "logsumexp", "long", "masked_fill", "matmul", "mean", "mul", "narrow", "neg", "permute", "relu",
    "repeat", "reshape", "roll", "rsqrt", "sigmoid", "sin", "softmax", "sqrt", "square", "squeeze", "sub", "sum", "t",
    "tanh", "transpose", "tril", "triu", "unflatten", "unsqueeze", "view",
})  # fmt: skip
# Change the type, and the device where they are told one.
CASTS = frozenset({"type", "type_as"})

REPLICA = "replica"
"""Stands beside the wrappers of a copy that DataParallel makes for a call."""
