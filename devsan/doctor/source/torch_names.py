"""torch's functions by what they do with their operands. A name that is in none of these lists is not checked."""

from __future__ import annotations

# Operators that want their tensors on one device. Each was looked up: native_functions.yaml generates the check
# (``device_check``), or TensorIterator makes it.
JOINED = frozenset({
    "add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "fmod", "remainder",
    "pow", "maximum", "minimum", "fmax", "fmin", "eq", "ne", "lt", "le", "gt", "ge", "equal", "allclose", "isclose",
    "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "atan2", "hypot", "lerp",
    "matmul", "mm", "bmm", "mv", "dot", "vdot", "inner", "outer", "addmm", "baddbmm", "addbmm", "addmv", "einsum",
    "kron", "cross", "cdist", "addcmul", "addcdiv", "cat", "concat", "concatenate", "stack", "hstack", "vstack",
    "dstack", "where", "masked_fill", "masked_scatter", "masked_select", "gather", "scatter", "scatter_add",
    "scatter_reduce", "index_select", "index_add", "index_copy", "index_fill", "take", "take_along_dim", "bucketize",
    "searchsorted", "tensordot", "chain_matmul", "repeat_interleave", "grid_sample",
    "linear", "bilinear", "embedding", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_similarity", "cosine_embedding_loss",
    "triplet_margin_loss", "margin_ranking_loss", "pairwise_distance", "scaled_dot_product_attention", "layer_norm",
    "batch_norm", "group_norm", "prelu",
})  # fmt: skip
# Methods of a tensor with other names, which want the same.
JOINED_METHODS = JOINED | frozenset({
    "add_", "sub_", "mul_", "div_", "pow_", "masked_fill_", "masked_scatter_", "scatter_", "scatter_add_", "index_add_",
    "index_copy_", "index_fill_", "lerp_", "addcmul_", "addcdiv_", "addmm_", "baddbmm_", "logical_and_", "bitwise_and_",
})  # fmt: skip
# Their result has no dimensions when nothing says which one to reduce.
REDUCTIONS = frozenset({
    "sum", "mean", "prod", "max", "min", "norm", "std", "var", "any", "all", "argmax", "argmin", "median", "nansum",
    "nanmean", "logsumexp", "amax", "amin", "count_nonzero", "dot", "trace", "det", "dist",
})  # fmt: skip
# So has that of a loss, unless it is asked to keep one for each row.
LOSSES = frozenset({
    "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "triplet_margin_loss",
    "margin_ranking_loss",
})  # fmt: skip
MAYBE_SCALAR = frozenset({"squeeze", "select", "unbind"})

# What torch.nn makes that has weights, and what compares its operands without any.
WEIGHTED = frozenset({
    "Linear", "LazyLinear", "Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d",
    "ConvTranspose3d", "Embedding", "EmbeddingBag", "LayerNorm", "RMSNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d",
    "SyncBatchNorm", "GroupNorm", "RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell", "MultiheadAttention",
    "Transformer", "TransformerEncoder", "TransformerEncoderLayer", "TransformerDecoder", "TransformerDecoderLayer",
    "PReLU",
})  # fmt: skip
CONTAINERS = frozenset({"Sequential", "ModuleList", "ModuleDict"})
SHAPED = frozenset({
    "ReLU", "GELU", "SiLU", "Tanh", "Sigmoid", "Softmax", "LogSoftmax", "LeakyReLU", "ELU", "Dropout", "Dropout1d",
    "Dropout2d", "Dropout3d", "Identity", "Flatten", "Unflatten", "MaxPool1d", "MaxPool2d", "MaxPool3d", "AvgPool1d",
    "AvgPool2d", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "Upsample", "PixelShuffle", "Softplus", "Mish", "ReLU6",
    "Hardswish", "ZeroPad2d", "ReflectionPad2d", "InstanceNorm2d",
})  # fmt: skip

# torch.cuda: what brings CUDA up, so that CUDA_VISIBLE_DEVICES is read for good. device_count asks NVML where it can.
CUDA_UP = frozenset({
    "is_available", "init", "set_device", "current_device", "get_device_name", "get_device_properties",
    "get_device_capability", "mem_get_info", "synchronize", "current_stream", "Stream", "Event", "is_bf16_supported",
    "set_per_process_memory_fraction", "ipc_collect",
})  # fmt: skip
