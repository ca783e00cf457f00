"""More of special.py: layers of networks, and the kernels of optimizers and attention."""

from __future__ import annotations

import torch

from .iterator import CPU, Refused, Unchecked, check_common, iterate, refuse
from .schema import Call
from .special import accepts, of, one, special


def on_gpu_with_good_shapes(call: Call) -> bool:
    """cuDNN's choice; for other inputs torch's own composite, in the CPU build, chooses as CUDA's does."""
    image, weight, bias = one(call, "input"), one(call, "weight"), of(call, "bias")
    return (
        image.device != CPU
        and weight.dim() == image.dim() > 2
        and all(t.dim() == 1 and t.numel() == (weight.size(1) * call.value("groups") if call.value("transposed")
                                               else weight.size(0)) for t in bias)
    )  # fmt: skip


def type_name(tensor: torch.Tensor) -> str:
    return f"torch.{'cuda.' if tensor.device != CPU else ''}FloatTensor"


@special(
    "aten/src/ATen/native/Convolution.cpp, _convolution: cuDNN's kernels compare types (check_input_same_type_as_"
    "parameters) before the generated check, and add the bias by TensorIterator; depthwise ones have the latter",
    "convolution",
    "convolution_overrideable",
    applies=on_gpu_with_good_shapes,
)
def convolution(call: Call) -> None:
    image, weight, bias = one(call, "input"), one(call, "weight"), of(call, "bias")
    groups = call.value("groups")
    if not call.value("transposed") and image.dim() > 3 and image.size(1) == groups > 1:
        kernel = "wrapper_CUDA___conv_depthwise2d" if image.dim() == 4 else "wrapper_CUDA__conv_depthwise3d"
        check_common([("self", image), ("weight", weight), *(("bias", t) for t in bias)], kernel)
        return
    for what, tensors in (("weight", [weight]), ("bias", bias)):
        for tensor in tensors:
            if tensor.device.type != image.device.type:
                refuse(f"Input type ({type_name(image)}) and {what} type ({type_name(tensor)}) should be the same")
    transposed = "_transpose" if call.value("transposed") else ""
    check_common([("self", image), ("weight", weight)], f"wrapper_CUDA__cudnn_convolution{transposed}")
    if bias:
        iterate([image], bias, host_scalars=True)


def chooses_cudnn(call: Call) -> bool:
    image = one(call, "input")
    several = [t for name in ("weight", "bias", "running_mean", "running_var") for t in of(call, name)]
    has_statistics = len(several) == 4 or call.value("training")
    channels = image.size(1) if image.dim() > 2 else 0
    return (
        image.device != CPU
        and bool(of(call, "weight") and of(call, "bias") and has_statistics)
        and image.dim() > 2
        and call.value("cudnn_enabled")
        and all(t.dim() == 1 and t.numel() == channels for t in several)
    )


@special(
    "aten/src/ATen/native/Normalization.cpp, _select_batch_norm_backend: cuDNN's kernel from three dimensions on",
    "_batch_norm_impl_index",
    applies=chooses_cudnn,
)
def batch_norm(call: Call) -> None:
    names = ("input", "weight", "bias", "running_mean", "running_var")
    check_common([(n, t) for n in names for t in of(call, n)], "wrapper_CUDA__cudnn_batch_norm")


def unchecked(source: str, *names: str, but: tuple[str, ...] = ()) -> None:
    """Every operand is read through its pointer, `but` for those of these names, which are read by item()."""

    def refuse_mix(call: Call) -> None:
        read = [t for o, t in zip(call.operands, call.tensors(), strict=True) if o.name not in but]
        try:
            iterate([], read, host_scalars=False)
        except Refused as refused:
            raise Unchecked(*refused.args) from None

    special(source, *names)(refuse_mix)


ADAM = ("_fused_adam_", "_fused_adamw_", "_fused_sgd_", "_fused_adagrad_")
unchecked(
    "aten/src/ATen/native/cuda/FusedAdamKernel.cu (FusedSgdKernel.cu, FusedAdagradKernel.cu): grad_scale and found_inf "
    "are read through data_ptr<float>()",
    *ADAM,
)
unchecked(
    "aten/src/ATen/native/transformers/cuda/attention_backward.cu: pointers go to the kernel as they are",
    "_scaled_dot_product_flash_attention_backward",
    "_scaled_dot_product_efficient_attention_backward",
    "_flash_attention_backward",
    "_efficient_attention_backward",
    but=("philox_seed", "philox_offset", "rng_state", "unused"),
)
unchecked(
    "aten/src/ATen/native/cuda/SegmentReduce.cu: lengths and offsets are read through data_ptr()",
    "segment_reduce",
    "_segment_reduce_backward",
)


@special(
    "aten/src/ATen/native/cuda/FusedAdamKernel.cu, _fused_adam_kernel_cuda_ with a tensor lr (FusedAdamWKernel.cu, "
    "FusedSgdKernel.cu, FusedAdagradKernel.cu)",
    *(f"{name}.tensor_lr" for name in ADAM),
)
def fused_with_tensor_lr(call: Call) -> None:
    device = one(call, "self").device
    if one(call, "lr").device != CPU:
        for name in ("grad_scale", "found_inf", "lr"):
            for tensor in of(call, name):
                if tensor.device != device:
                    refuse(f"{name} must be on the same GPU device as the params")
    # check_fast_path_restrictions compares the lists. state_steps, and beside a lr on the CPU grad_scale and found_inf,
    # are read through their pointers: on an H100 such calls read an illegal address, so see `unchecked`.
    lists = [t for o, t in zip(call.operands, call.tensors(), strict=True) if o.element is not None]
    iterate([], [*lists, *of(call, "grad_scale"), *of(call, "found_inf")], False)


accepts(
    "native_functions.yaml: log_probs on CUDA, targets on the CPU (device_check: NoCheck)",
    *(
        f"{prefix}_ctc_loss{form}"
        for prefix in ("_cudnn", "_use_cudnn", "_use_miopen", "miopen")
        for form in ("", ".Tensor")
    ),
)
