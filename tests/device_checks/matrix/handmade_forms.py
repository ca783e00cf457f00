"""Calls of forms that are rarely written: out= of composites, internals that take two tensors."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from .entries import Entry, aten, entry, longs, rand


def rare_forms() -> Iterator[Entry]:
    state = torch.zeros(4, 30, dtype=torch.long)
    quasi = torch.zeros(4, dtype=torch.long)
    yield entry(aten._sobol_engine_draw.default, quasi, 3, state, 4, 0, torch.float32)
    yield entry(aten._sobol_engine_ff_.default, quasi, 3, state, 4, 0)
    yield entry(aten._sobol_engine_scramble_.default, state, torch.ones(4, 30, 30).long().tril(), 4)
    yield entry(aten._has_compatible_shallow_copy_type.default, rand(3), rand(3))
    yield entry(aten._has_same_storage_numel.default, rand(3), rand(3))
    yield entry(aten._reshape_from_tensor.default, rand(4), longs(2, 2))
    yield entry(aten._rowwise_prune.default, rand(3, 2), torch.tensor([True, False, True]), torch.int64)
    yield entry(aten._to_cpu.default, [rand(3), rand(3)])
    yield entry(aten._transform_bias_rescale_qkv.default, rand(2, 3, 24), rand(24), 2)
    yield entry(aten._test_serialization_subcmul.default, rand(3), rand(3))
    layer = rand(2, 2, 5, 5), rand(3, 2, 3, 3), rand(3)
    geometry = [1, 1], [0, 0], [1, 1], False, [0, 0], 1
    yield entry(aten._convolution.deprecated, *layer, *geometry, False, False, False)
    yield entry(aten._foreach_pow.ScalarAndTensor, 2.0, [rand(3), rand(4)])
    yield entry(aten.affine_grid_generator.default, rand(2, 2, 3), [2, 2, 4, 4], False)
    yield entry(aten._grid_sampler_2d_cpu_fallback.default, rand(1, 2, 4, 4), rand(1, 3, 3, 2), 0, 0, False)
    yield entry(
        aten.fake_quantize_per_channel_affine_cachemask.default, rand(2, 3), rand(2), longs(0, 0).int(), 0, 0, 255
    )
    yield entry(
        aten._fake_quantize_learnable_per_channel_affine.default, rand(2, 3), rand(2), torch.zeros(2), 0, 0, 255
    )
    on = torch.ones(1, dtype=torch.long)
    yield entry(aten._fused_moving_avg_obs_fq_helper.default, rand(2, 3), on, on, rand(1), rand(1), rand(1),
                torch.zeros(1).int(), 0.1, 0, 255, -1)  # fmt: skip
    yield entry(aten.fused_moving_avg_obs_fake_quant.default, rand(2, 3), on, on, rand(1), rand(1), rand(1),
                torch.zeros(1).int(), 0.1, 0, 255, -1)  # fmt: skip
    yield entry(aten.float_power_.Tensor, rand(3).double(), rand(3).double())
    yield entry(aten.gradient.tensorarrayint, rand(4, 4), spacing=[rand(4)], dim=0)
    yield entry(aten.randint_like.Tensor, rand(3), torch.tensor(5))
    yield entry(getattr(aten.random, "from"), rand(3), 0, 5)
    yield entry(aten.slow_conv3d.default, rand(1, 2, 4, 4, 4), rand(3, 2, 2, 2, 2), [2, 2, 2], rand(3))
    yield entry(aten.unflatten_dense_tensors.default, rand(6), [rand(2), rand(4)])
    yield entry(aten.set_.source_Tensor_storage_offset, rand(4), rand(4), 0, [2], [1])
    yield entry(aten.slice_inverse.default, rand(2), rand(4), 0, 0, 2)
    yield entry(aten.nuclear_norm.dim_out, rand(3, 3), [0, 1], out=rand(1))
    yield entry(aten.nuclear_norm.out, rand(3, 3), out=torch.tensor(0.0))
    yield entry(aten.frobenius_norm.out, rand(3, 3), [0, 1], out=torch.tensor(0.0))
    yield entry(aten.norm.ScalarOpt_dtype_out, rand(3), 2, dtype=torch.float32, out=torch.tensor(0.0))
    yield entry(aten.norm.dtype_out, rand(3), 2, [0], False, dtype=torch.float32, out=torch.tensor(0.0))
    yield entry(aten.linalg_cond.p_str_out, rand(3, 3), "fro", out=torch.tensor(0.0))
    yield entry(aten.linalg_norm.ord_str_out, rand(3, 3), "fro", out=torch.tensor(0.0))
    yield entry(aten.linalg_matrix_norm.out, rand(3, 3), 2, out=torch.tensor(0.0))
    yield entry(aten.linalg_matrix_rank.out, rand(3, 3), 0.1, out=torch.tensor(0))
    yield entry(aten.linalg_matrix_rank.atol_rtol_float_out, rand(3, 3), out=torch.tensor(0))
    yield entry(aten.slogdet.out, rand(3, 3), sign=torch.tensor(0.0), logabsdet=torch.tensor(0.0))
    for name in ("linspace", "logspace"):
        end = torch.tensor(1.0)
        yield entry(getattr(aten, name).Scalar_Tensor_out, 0.0, end, 3, out=rand(3))
        yield entry(getattr(aten, name).Tensor_Scalar_out, end, 0.0, 3, out=rand(3))
