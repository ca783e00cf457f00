#include "emulate/operators/networks/fused_cells.h"

#include <ATen/AccumulateType.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/TensorUtils.h>

namespace devsan::emulate {
namespace {

/// CUDA's own checks, by torch's own functions, so in its words (checkSizes in RNN.cu).
void check_sizes(at::CheckedFrom cell, const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                 const at::Tensor& input_bias, const at::Tensor& hidden_bias, std::int64_t factor,
                 const at::Tensor& hidden) {
  const at::TensorArg inputs{input_gates, "input_gates", 1};
  const at::TensorArg from_hidden{hidden_gates, "hidden_gates", 2};
  at::checkDim(cell, inputs, 2);
  at::checkSameSize(cell, inputs, from_hidden);
  if (input_bias.defined()) {
    const at::TensorArg bias{input_bias, "input_bias", 3};
    at::checkDim(cell, bias, 1);
    at::checkNumel(cell, bias, input_gates.size(1));
    at::checkSameSize(cell, bias, {hidden_bias, "hidden_bias", 4});
  }
  const at::TensorArg previous{hidden, "prev_hidden", 5};
  at::checkDim(cell, previous, 2);
  at::checkNumel(cell, previous, input_gates.size(0) * input_gates.size(1) / factor);
}

at::Tensor wide(const at::Tensor& tensor) {
  return tensor.to(at::toAccumulateType(tensor.scalar_type(), /*is_cuda=*/true));
}

at::Tensor biased(const at::Tensor& gates, const at::Tensor& bias) {
  return bias.defined() ? wide(gates) + wide(bias) : wide(gates);
}

/// Slope of the logistic function from its value.
at::Tensor logistic_slope(const at::Tensor& value) { return (1 - value) * value; }

/// Slope of tanh from its value.
at::Tensor tanh_slope(const at::Tensor& value) { return 1 - value * value; }

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> fused_lstm_cell(const at::Tensor& input_gates,
                                                               const at::Tensor& hidden_gates, const at::Tensor& cx,
                                                               const std::optional<at::Tensor>& input_bias,
                                                               const std::optional<at::Tensor>& hidden_bias) {
  const at::Tensor first = input_bias.value_or(at::Tensor());
  const at::Tensor second = hidden_bias.value_or(at::Tensor());
  check_sizes("_thnn_fused_lstm_cell_cuda", input_gates, hidden_gates, first, second, /*factor=*/4, cx);
  const auto gates = (biased(input_gates, first) + biased(hidden_gates, second)).chunk(4, 1);
  const at::Tensor input = gates[0].sigmoid();
  const at::Tensor forget = gates[1].sigmoid();
  const at::Tensor cell = gates[2].tanh();
  const at::Tensor output = gates[3].sigmoid();
  const at::Tensor cy = forget * wide(cx) + input * cell;
  const at::Tensor hy = output * cy.tanh();
  const at::ScalarType type = cx.scalar_type();
  return {hy.to(type), cy.to(type), at::cat({input, forget, cell, output}, 1).to(input_gates.scalar_type())};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> fused_lstm_cell_backward(const std::optional<at::Tensor>& grad_hy,
                                                                        const std::optional<at::Tensor>& grad_cy,
                                                                        const at::Tensor& cx, const at::Tensor& cy,
                                                                        const at::Tensor& workspace, bool has_bias) {
  const bool through_hidden = grad_hy.has_value() && grad_hy->defined();
  const bool through_cell = grad_cy.has_value() && grad_cy->defined();
  if (!through_hidden && !through_cell) return {};
  const auto gates = wide(workspace).chunk(4, 1);
  const at::Tensor& input = gates[0];
  const at::Tensor& forget = gates[1];
  const at::Tensor& cell = gates[2];
  const at::Tensor& output = gates[3];
  const at::Tensor squashed = wide(cy).tanh();
  const at::Tensor hidden_grad = through_hidden ? wide(*grad_hy) : at::zeros_like(squashed);
  at::Tensor state_grad = hidden_grad * output * tanh_slope(squashed);
  if (through_cell) state_grad = state_grad + wide(*grad_cy);
  const at::Tensor grad_gates =
      at::cat({state_grad * cell * logistic_slope(input), state_grad * wide(cx) * logistic_slope(forget),
               state_grad * input * tanh_slope(cell), hidden_grad * squashed * logistic_slope(output)},
              1)
          .to(workspace.scalar_type());
  return {grad_gates, (state_grad * forget).to(cx.scalar_type()), has_bias ? grad_gates.sum(0) : at::Tensor()};
}

std::tuple<at::Tensor, at::Tensor> fused_gru_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                                                  const at::Tensor& hx, const std::optional<at::Tensor>& input_bias,
                                                  const std::optional<at::Tensor>& hidden_bias) {
  const at::Tensor first = input_bias.value_or(at::Tensor());
  const at::Tensor second = hidden_bias.value_or(at::Tensor());
  check_sizes("_thnn_fused_gru_cell_cuda", input_gates, hidden_gates, first, second, /*factor=*/3, hx);
  const auto from_input = biased(input_gates, first).chunk(3, 1);
  const auto from_hidden = biased(hidden_gates, second).chunk(3, 1);
  const at::Tensor reset = (from_input[0] + from_hidden[0]).sigmoid();
  const at::Tensor update = (from_input[1] + from_hidden[1]).sigmoid();
  const at::Tensor fresh = (from_input[2] + reset * from_hidden[2]).tanh();
  const at::Tensor previous = wide(hx);
  const at::Tensor hy = fresh + update * (previous - fresh);
  const at::ScalarType type = hx.scalar_type();
  return {hy.to(type), at::cat({reset, update, fresh, previous, from_hidden[2]}, 1).to(type)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> fused_gru_cell_backward(
    const at::Tensor& grad_hy, const at::Tensor& workspace, bool has_bias) {
  const auto saved = wide(workspace).chunk(5, 1);
  const at::Tensor& reset = saved[0];
  const at::Tensor& update = saved[1];
  const at::Tensor& fresh = saved[2];
  const at::Tensor grad = wide(grad_hy);
  const at::Tensor to_update = grad * (saved[3] - fresh) * logistic_slope(update);
  const at::Tensor to_fresh = grad * (1 - update) * tanh_slope(fresh);
  const at::Tensor to_reset = to_fresh * saved[4] * logistic_slope(reset);
  const at::ScalarType type = workspace.scalar_type();
  const at::Tensor grad_input = at::cat({to_reset, to_update, to_fresh}, 1).to(type);
  const at::Tensor grad_hidden = at::cat({to_reset, to_update, to_fresh * reset}, 1).to(type);
  return {grad_input, grad_hidden, (grad * update).to(grad_hy.scalar_type()),
          has_bias ? grad_input.sum(0) : at::Tensor(), has_bias ? grad_hidden.sum(0) : at::Tensor()};
}

}  // namespace devsan::emulate
