"""Calls of operators that none of torch's samples reach, written by hand. Each is an operator and its arguments."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import torch

from .entries import Entry, aten, entry, longs, rand
from .handmade_forms import rare_forms
from .handmade_layers import backward_passes, networks, packed_sequences
from .handmade_sparse import members
from .schema import Call, bound


def elementwise() -> Iterator[Entry]:
    whole = longs(3, 5, 6)
    for name in ("__lshift__", "__rshift__", "__xor__", "__and__", "__or__"):
        yield entry(getattr(aten, name).Tensor, whole, longs(1, 2, 1))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"):
        yield entry(getattr(aten, name).Scalar_Tensor, 3, whole)
        scalar = "Tensor_Scalar" if "shift" in name else "Scalar"
        yield entry(getattr(getattr(aten, name), scalar), whole, 1)
    special = [f"special_{n}_polynomial_{k}" for n, ks in (("chebyshev", "tuvw"), ("shifted_chebyshev", "tuvw"),
               ("laguerre", "l"), ("legendre", "p")) for k in ks]  # fmt: skip
    for name in (*special, "special_hermite_polynomial_h", "special_hermite_polynomial_he"):
        yield entry(getattr(aten, name).x_scalar, 2, rand(3))
        yield entry(getattr(aten, name).n_scalar, rand(3), 2)
    for name in ("special_xlog1py", "special_xlogy", "special_zeta"):
        yield entry(getattr(aten, name).self_scalar, 2, rand(3))
        yield entry(getattr(aten, name).other_scalar, rand(3), 2)
    yield entry(aten.xlogy.Scalar_Self, 2, rand(3))
    yield entry(aten.xlogy.Scalar_Other, rand(3), 2)
    yield entry(aten.float_power.Scalar, 2, rand(3))
    yield entry(aten.float_power.Tensor_Scalar, rand(3), 2)
    for name in ("floor_divide", "fmod", "remainder", "copysign", "not_equal", "less", "less_equal", "greater"):
        yield entry(getattr(aten, name).Scalar, rand(3), 2)
    yield entry(aten.greater_equal.Scalar, rand(3), 2)
    yield entry(aten.remainder.Scalar_Tensor, 2, rand(3))
    yield entry(aten.div.Scalar_mode, rand(3), 2, rounding_mode="floor")
    yield entry(aten.clamp_max.default, rand(3), 1)
    yield entry(aten.fill.Tensor, rand(3), torch.tensor(1.0))
    yield entry(aten.fill_.Tensor, rand(3), torch.tensor(1.0))
    yield entry(aten.where.ScalarOther, rand(3) > 0.5, rand(3), 1.0)
    yield entry(aten.binomial.default, torch.full((3,), 4.0), torch.full((3,), 0.5))
    yield entry(aten.bernoulli_.Tensor, rand(3), torch.full((3,), 0.5))
    yield entry(aten.bernoulli.p, rand(3), 0.5)
    yield entry(aten.poisson.default, rand(3))
    yield entry(aten.normal.float_Tensor, 0.0, rand(3))
    yield entry(aten._standard_gamma_grad.default, rand(3), rand(3))
    yield entry(aten._dirichlet_grad.default, rand(2, 3), rand(2, 3), rand(2, 3))
    yield entry(aten.isin.Scalar_Tensor, 2, whole)
    yield entry(aten.isin.Tensor_Scalar, whole, 3)
    yield entry(aten.searchsorted.Scalar, rand(4), 1.0, sorter=longs(0, 1, 2, 3))
    yield entry(aten.bucketize.Scalar, 1.0, rand(4))
    for name in ("linspace", "logspace"):
        yield entry(getattr(aten, name).Tensor_Tensor, torch.tensor(0.0), torch.tensor(1.0), 3)
        yield entry(getattr(aten, name).Tensor_Scalar, torch.tensor(0.0), 1.0, 3)
        yield entry(getattr(aten, name).Scalar_Tensor, 0.0, torch.tensor(1.0), 3)


def lists() -> Iterator[Entry]:
    def several() -> list[torch.Tensor]:
        return [rand(2, 3), rand(3), rand(4)]

    scalar = torch.tensor(2.0)
    for name in ("add", "mul", "div"):
        yield entry(getattr(aten, f"_foreach_{name}").Tensor, several(), scalar)
        yield entry(getattr(aten, f"_foreach_{name}_").Tensor, several(), scalar)
    for name in ("addcdiv", "addcmul"):
        for form in (f"_foreach_{name}", f"_foreach_{name}_"):
            yield entry(getattr(aten, form).Tensor, several(), several(), several(), rand(3))
            yield entry(getattr(aten, form).ScalarList, several(), several(), several(), [1.0, 2.0, 3.0])
    yield entry(aten._foreach_powsum.Scalar, several(), 2)
    yield entry(aten._foreach_copy_.default, several(), several())
    yield entry(aten._amp_foreach_non_finite_check_and_unscale_.default, several(), torch.tensor([0.0]), rand(1))
    yield entry(aten._amp_update_scale_.default, rand(1), torch.ones(1, dtype=torch.int32), rand(1), 2.0, 0.5, 10)
    steps = [torch.tensor(1.0) for _ in range(3)]
    state = [several() for _ in range(5)]
    adam = {
        "lr": 0.1,
        "beta1": 0.9,
        "beta2": 0.99,
        "weight_decay": 0.1,
        "eps": 1e-8,
        "amsgrad": True,
        "maximize": False,
    }
    amp = {"grad_scale": torch.tensor(1.0), "found_inf": torch.tensor(0.0)}
    sgd = {"weight_decay": 0.1, "momentum": 0.9, "lr": 0.1, "dampening": 0.0, "nesterov": False, "maximize": False}
    ada = {"lr": 0.1, "lr_decay": 0.0, "weight_decay": 0.1, "eps": 1e-8, "maximize": False}
    for name, args, options in (
        ("_fused_adam_", (*state, steps), adam),
        ("_fused_adamw_", (*state, steps), adam),
        ("_fused_sgd_", tuple(state[:3]), {**sgd, "is_first_step": False}),
        ("_fused_adagrad_", (*state[:3], steps), ada),
    ):
        op = getattr(aten, name)
        yield entry(op.default, *args, **options, **amp)
        yield entry(op.tensor_lr, *args, **{**options, "lr": torch.tensor(0.1)}, **amp)
    yield entry(aten.chain_matmul.default, [rand(2, 3), rand(3, 4), rand(4, 2)])
    yield entry(aten.meshgrid.default, [rand(2), rand(3)])
    yield entry(aten.pad_sequence.default, [rand(2), rand(3)])
    yield entry(aten.flatten_dense_tensors.default, several())
    yield entry(aten._stack.default, [rand(3), rand(3)])
    yield entry(aten.gradient.tensorarray, rand(4, 4), spacing=[rand(4), rand(4)], dim=[0, 1])


def indexing() -> Iterator[Entry]:
    yield entry(aten._index_put_impl_.default, rand(4), [longs(0, 2)], rand(2))
    yield entry(aten._unsafe_index_put.default, rand(4), [longs(0, 2)], rand(2))
    yield entry(aten.scatter.value_reduce, rand(3), 0, longs(0, 2), 1.0, reduce="add")
    yield entry(aten.slice_scatter.default, rand(4), rand(2), 0, 0, 2)
    yield entry(aten.index_select_backward.default, rand(2), [4], 0, longs(0, 2))
    yield entry(aten.gather_backward.default, rand(2), rand(4), 0, longs(0, 2), False)
    yield entry(aten.masked_select_backward.default, rand(4), rand(4), torch.tensor([True, False, True, True]))
    yield entry(aten.cumprod_backward.default, rand(3), rand(3), 0, rand(3))
    yield entry(aten.cummaxmin_backward.default, rand(3), rand(3), longs(0, 1, 2), 0)
    yield entry(aten.value_selecting_reduction_backward.default, torch.tensor(1.0), 0, torch.tensor(1), [3], False)
    yield entry(aten._pack_padded_sequence.default, rand(3, 2, 1), longs(3, 2), False)
    yield entry(aten._convert_indices_from_csr_to_coo.default, longs(0, 1, 2), longs(0, 1))
    yield entry(aten.quantile.default, rand(4), rand(2))
    yield entry(aten.nanquantile.default, rand(4), rand(2))
    yield entry(aten.set_.source_Tensor, rand(3), rand(3))
    yield entry(aten.is_set_to.default, rand(3), rand(3))
    yield entry(aten.is_same_size.default, rand(3), rand(3))
    yield entry(aten.to.other, rand(3), rand(3))
    yield entry(aten.resize_as_.default, rand(3), rand(3))
    yield entry(aten._cholesky_solve_helper.default, rand(2, 1), torch.eye(2), False)
    yield entry(aten.linear_backward.default, rand(2, 3), rand(2, 4), rand(4, 3), [True, True, True])
    yield entry(aten.glu_jvp.default, rand(2), rand(4), rand(4), 0)
    yield entry(aten.glu_backward_jvp.default, rand(4), rand(2), rand(4), rand(2), rand(4), 0)
    yield entry(aten._euclidean_dist.default, rand(2, 3), rand(2, 3))
    yield entry(aten._compute_linear_combination.default, rand(2, 3), rand(2, 2))
    yield entry(aten.infinitely_differentiable_gelu_backward.default, rand(3), rand(3))
    yield entry(aten.linalg_matrix_rank.tol_tensor, rand(3, 3), torch.tensor(0.1))
    yield entry(aten.linalg_pinv.rcond_tensor, rand(3, 3), torch.tensor(0.1))
    for scale, zero in (((torch.tensor(0.1), torch.tensor(0, dtype=torch.int32))),):
        yield entry(aten.fake_quantize_per_tensor_affine.tensor_qparams, rand(3), scale, zero, 0, 255)
        yield entry(aten._fake_quantize_learnable_per_tensor_affine.default, rand(3), rand(1), torch.zeros(1), 0, 255)
    zeros = torch.zeros(2).int()
    yield entry(aten.fake_quantize_per_channel_affine.default, rand(2, 3), rand(2), zeros, 0, 0, 255)


def handmade() -> Iterator[Call]:
    """The calls whose operators this torch has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for family in (elementwise, lists, networks, indexing, backward_passes, packed_sequences, members, rare_forms):
            entries = family()
            while True:
                try:
                    op, args, kwargs = next(entries)
                except StopIteration:
                    break
                yield Call(op, bound(op, args, kwargs), "by hand")
