"""Calls of the layers of networks, and of the backward passes that torch's own samples do not reach."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from .entries import Entry, aten, entry, longs, rand


def networks() -> Iterator[Entry]:
    image, kernel = rand(2, 2, 5, 5), rand(3, 2, 3, 3)
    geometry = ([1, 1], [0, 0], [1, 1])
    yield entry(
        aten._convolution.default, image, kernel, rand(3), *geometry, False, [0, 0], 1, False, False, False, False
    )
    yield entry(aten.conv2d.padding, image, kernel, rand(3))
    yield entry(aten._slow_conv2d_forward.default, image, kernel, [3, 3], rand(3), [1, 1], [0, 0])
    yield entry(aten.thnn_conv2d.default, image, kernel, [3, 3], rand(3))
    yield entry(aten.slow_conv_dilated2d.default, image, kernel, [3, 3], rand(3))
    yield entry(aten.slow_conv_transpose2d.default, image, rand(2, 3, 3, 3), [3, 3], rand(3))
    yield entry(aten.slow_conv_dilated3d.default, rand(2, 2, 4, 4, 4), rand(3, 2, 2, 2, 2), [2, 2, 2], rand(3))
    yield entry(aten.slow_conv_transpose3d.default, rand(2, 2, 4, 4, 4), rand(2, 3, 2, 2, 2), [2, 2, 2], rand(3))
    yield entry(aten.conv_tbc.default, rand(4, 2, 3), rand(2, 3, 5), rand(5))
    yield entry(aten.embedding_bag.default, rand(5, 3), longs(0, 1, 2), longs(0, 2))
    yield entry(aten._embedding_bag.default, rand(5, 3), longs(0, 1, 2), longs(0, 2), False, 0, False, rand(3))
    yield entry(aten.embedding_renorm_.default, rand(5, 3), longs(0, 1), 1.0, 2.0)
    yield entry(aten.embedding_backward.default, rand(2, 3), longs(0, 1), 5, -1, False, False)
    yield entry(aten._native_batch_norm_legit.no_stats, image, rand(2), rand(2), True, 0.1, 1e-5)
    yield entry(aten._native_batch_norm_legit_no_training.default, image, rand(2), rand(2), rand(2), rand(2), 0.1, 1e-5)
    yield entry(aten._fused_rms_norm_backward.default, rand(2, 3), rand(2, 3), [3], rand(2, 1), rand(3), [True, True])
    yield entry(aten._weight_norm_interface.default, rand(3, 2), rand(3, 1))
    yield entry(aten._weight_norm.default, rand(3, 2), rand(3, 1))
    yield entry(aten.reflection_pad2d_backward.default, rand(1, 2, 4, 4), rand(1, 2, 2, 2), [1, 1, 1, 1])
    yield entry(aten.ctc_loss.Tensor, rand(4, 1, 3).log(), longs(1, 2).view(1, 2), longs(4), longs(2))
    yield entry(aten._ctc_loss.default, rand(4, 1, 3).log(), longs(1, 2).view(1, 2), [4], [2])
    yield entry(aten._ctc_loss.Tensor, rand(4, 1, 3).log(), longs(1, 2).view(1, 2), longs(4), longs(2))
    yield entry(aten._masked_softmax.default, rand(2, 3), torch.zeros(2, 3, dtype=torch.bool), 1, 0)
    yield entry(aten._masked_scale.default, rand(3), rand(3), 2.0)
    yield entry(aten._addmm_activation.default, rand(3), rand(2, 4), rand(4, 3))
    yield entry(aten._int_mm.default, torch.ones(32, 8, dtype=torch.int8), torch.ones(8, 8, dtype=torch.int8))
    weights = rand(16, 3), rand(16, 4), rand(16), rand(16)
    yield entry(aten.lstm.input, rand(5, 1, 3), [rand(1, 1, 4), rand(1, 1, 4)], list(weights), True, 1, 0.0, False,
                False, False)  # fmt: skip
    yield entry(aten.lstm_cell.default, rand(2, 3), [rand(2, 4), rand(2, 4)], *weights)
    gates = rand(12, 3), rand(12, 4), rand(12), rand(12)
    yield entry(aten.gru.input, rand(5, 1, 3), rand(1, 1, 4), list(gates), True, 1, 0.0, False, False, False)
    yield entry(aten.gru_cell.default, rand(2, 3), rand(2, 4), *gates)
    plain = rand(4, 3), rand(4, 4), rand(4), rand(4)
    for name in ("rnn_tanh", "rnn_relu"):
        yield entry(
            getattr(aten, name).input, rand(5, 1, 3), rand(1, 1, 4), list(plain), True, 1, 0.0, False, False, False
        )
        yield entry(getattr(aten, f"{name}_cell").default, rand(2, 3), rand(2, 4), *plain)
    yield entry(aten._thnn_fused_lstm_cell.default, rand(2, 16), rand(2, 16), rand(2, 4), rand(16), rand(16))
    yield entry(aten._thnn_fused_gru_cell.default, rand(2, 12), rand(2, 12), rand(2, 4), rand(12), rand(12))
    yield entry(aten.cudnn_batch_norm.default, image, rand(2), rand(2), rand(2), rand(2), True, 0.1, 1e-5)
    yield entry(aten.cudnn_convolution.default, image, kernel, [0, 0], [1, 1], [1, 1], 1, False, False, True)
    yield entry(aten._conv_depthwise2d.default, image, rand(2, 1, 3, 3), [3, 3], rand(2), [1, 1], [0, 0], [1, 1])
    heads = [rand(1, 2, 8, 8) for _ in range(3)]
    yield entry(aten._scaled_dot_product_flash_attention.default, *heads)
    yield entry(aten._scaled_dot_product_efficient_attention.default, *heads, rand(1, 2, 8, 8), True)
    yield entry(aten._scaled_dot_product_flash_attention_for_cpu.default, *heads, attn_mask=rand(8, 8))
    yield entry(aten.batch_norm_elemt.default, image, rand(2), rand(2), rand(2), rand(2), 1e-5)
    yield entry(aten.batch_norm_backward_reduce.default, image, image, rand(2), rand(2), rand(2), True, True, True)
    yield entry(aten.batch_norm_gather_stats.default, image, rand(3, 2), rand(3, 2), rand(2), rand(2), 0.1, 1e-5, 50)


def backward_passes() -> Iterator[Entry]:
    image, kernel = rand(2, 2, 5, 5), rand(3, 2, 3, 3)
    none = torch.empty(0)
    convolved = rand(2, 3, 3, 3)
    yield entry(aten._convolution_double_backward.default, image, kernel, rand(3), convolved, kernel, image, [1, 1],
                [0, 0], [1, 1], False, [0, 0], 1, [True, True, True])  # fmt: skip
    yield entry(aten._slow_conv2d_backward.output_mask, convolved, image, kernel, [3, 3], [1, 1], [0, 0], [True] * 3)
    yield entry(aten.conv_tbc_backward.default, rand(3, 2, 5), rand(4, 2, 3), rand(2, 3, 5), rand(5), 0)
    yield entry(aten._batch_norm_impl_index_backward.default, 0, image, image, rand(2), rand(2), rand(2), rand(2),
                rand(2), True, 1e-5, [True] * 3, none)  # fmt: skip
    yield entry(aten._batch_norm_no_update.default, image, rand(2), rand(2), rand(2), rand(2), 0.1, 1e-5)
    yield entry(aten.batch_norm_update_stats.default, image, rand(2), rand(2), 0.1)
    ids, bags = longs(0, 1, 2), longs(0, 0, 1)
    dense = ids, bags, longs(2, 1), longs(0, 0), 5, False, 0, rand(3)
    yield entry(aten._embedding_bag_dense_backward.default, rand(2, 3), *dense)
    yield entry(aten._embedding_bag_sparse_backward.default, rand(2, 3), ids, longs(0, 2), bags, longs(2, 1), 5, False,
                0, rand(3))  # fmt: skip
    yield entry(aten.embedding_sparse_backward.default, rand(3, 3), ids, 5, -1, False)
    gates, state, bias = rand(2, 16), rand(2, 4), rand(16)
    yield entry(aten._thnn_differentiable_lstm_cell_backward.default, state, state, gates, gates, bias, bias, state,
                state)  # fmt: skip
    yield entry(aten._thnn_fused_lstm_cell_backward.default, state, state, state, state, gates, True)
    gates, bias = rand(2, 12), rand(12)
    yield entry(aten._thnn_differentiable_gru_cell_backward.default, state, gates, gates, state, bias, bias)
    yield entry(aten._thnn_fused_gru_cell_backward.default, state, rand(2, 20), True)
    yield entry(aten._thnn_fused_lstm_cell_backward_impl.default, state, state, state, state, rand(2, 16), True)
    yield entry(aten._weight_norm_differentiable_backward.default, rand(3, 2), rand(3, 2), rand(3, 1), rand(3, 1), 0)
    yield entry(aten.matrix_exp_backward.default, rand(3, 3), rand(3, 3))
    probabilities = rand(4, 1, 3).log_softmax(-1)
    targets = longs(1, 2).view(1, 2)
    loss, alpha = aten._ctc_loss.default(probabilities, targets, [4], [2])
    yield entry(aten._ctc_loss_backward.default, rand(1), probabilities, targets, [4], [2], loss, alpha, 0)
    for name in ("_cudnn_ctc_loss", "miopen_ctc_loss"):
        yield entry(getattr(aten, name).default, probabilities, targets, [4], [2], 0, False, False)
        yield entry(getattr(aten, name).Tensor, probabilities, targets, longs(4), longs(2), 0, False, False)
    for name in ("_use_cudnn_ctc_loss", "_use_miopen_ctc_loss"):
        yield entry(getattr(aten, name).default, probabilities, targets, [4], [2], 0)
        yield entry(getattr(aten, name).Tensor, probabilities, targets, longs(4), longs(2), 0)
    yield entry(aten._masked_softmax_backward.default, rand(2, 3), rand(2, 3), torch.zeros(2, 3).bool(), 1)
    mask = torch.ones(2, 3).bool()
    yield entry(aten.fake_quantize_per_tensor_affine_cachemask_backward.default, rand(2, 3), mask)
    yield entry(aten.fake_quantize_per_channel_affine_cachemask_backward.default, rand(2, 3), mask)
    heads = [rand(1, 2, 8, 8) for _ in range(3)]
    seeds = torch.tensor(0), torch.tensor(0)
    yield entry(aten._scaled_dot_product_efficient_attention_backward.default, heads[0], *heads, rand(1, 2, 8, 8),
                heads[0], rand(1, 2, 32), *seeds, 0.0, [True, True, True, False])  # fmt: skip
    yield entry(aten._scaled_dot_product_flash_attention_backward.default, heads[0], *heads, heads[0], rand(1, 2, 8),
                longs(), longs(), 8, 8, 0.0, False, *seeds)  # fmt: skip
    rows = [h.transpose(1, 2) for h in heads]
    yield entry(aten._flash_attention_forward.default, *rows, None, None, 8, 8, 0.0, False, False)
    yield entry(aten._flash_attention_backward.default, rows[0], *rows, rows[0], rand(1, 2, 8), longs(), longs(), 8, 8,
                0.0, False, *seeds)  # fmt: skip
    yield entry(aten._efficient_attention_forward.default, *rows, rand(1, 2, 8, 8), None, None, 8, 8, 0.0, 0)
    yield entry(aten._efficient_attention_backward.default, rows[0], *rows, None, rows[0], None, None, 8, 8,
                rand(1, 2, 32), 0.0, *seeds, 0, False)  # fmt: skip


def packed_sequences() -> Iterator[Entry]:
    packed, sizes = rand(5, 3), longs(2, 2, 1)
    yield entry(aten._pad_packed_sequence.default, packed, sizes, False, 0.0, 3)
    yield entry(aten._pack_padded_sequence_backward.default, packed, [3, 2, 3], sizes, False)
    weights = rand(16, 3), rand(16, 4), rand(16), rand(16)
    options = (True, 1, 0.0, False, False)
    yield entry(aten.lstm.data, packed, sizes, [rand(1, 2, 4), rand(1, 2, 4)], list(weights), *options)
    gates = rand(12, 3), rand(12, 4), rand(12), rand(12)
    yield entry(aten.gru.data, packed, sizes, rand(1, 2, 4), list(gates), *options)
    plain = rand(4, 3), rand(4, 4), rand(4), rand(4)
    for name in ("rnn_tanh", "rnn_relu"):
        yield entry(getattr(aten, name).data, packed, sizes, rand(1, 2, 4), list(plain), *options)
