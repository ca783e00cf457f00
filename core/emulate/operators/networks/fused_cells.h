#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

// The cells that a recurrent network runs on CUDA where cuDNN is not used (aten/src/ATen/native/cuda/RNN.cu): everything
// after the two matrix products, in one kernel. Here by elementwise operators, in float32 for a reduced precision. The
// workspaces have CUDA's shapes and contents.

/// aten::_thnn_fused_lstm_cell. @return hy, cy, and the four activated gates
std::tuple<at::Tensor, at::Tensor, at::Tensor> fused_lstm_cell(const at::Tensor& input_gates,
                                                               const at::Tensor& hidden_gates, const at::Tensor& cx,
                                                               const std::optional<at::Tensor>& input_bias,
                                                               const std::optional<at::Tensor>& hidden_bias);

/// aten::_thnn_fused_lstm_cell_backward_impl. @return gradients of the gates, of cx, and of the bias where it has one
std::tuple<at::Tensor, at::Tensor, at::Tensor> fused_lstm_cell_backward(const std::optional<at::Tensor>& grad_hy,
                                                                        const std::optional<at::Tensor>& grad_cy,
                                                                        const at::Tensor& cx, const at::Tensor& cy,
                                                                        const at::Tensor& workspace, bool has_bias);

/// aten::_thnn_fused_gru_cell. @return hy, and [batch, 5 * hidden]: reset, input and new gate, hx, hidden part of new
std::tuple<at::Tensor, at::Tensor> fused_gru_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                                                  const at::Tensor& hx, const std::optional<at::Tensor>& input_bias,
                                                  const std::optional<at::Tensor>& hidden_bias);

/// aten::_thnn_fused_gru_cell_backward. @return gradients of input gates, hidden gates, hx, and the two biases
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> fused_gru_cell_backward(
    const at::Tensor& grad_hy, const at::Tensor& workspace, bool has_bias);

}  // namespace devsan::emulate
