#include "emulate/operators/attention/composite_attention.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/autograd.h>

#include "emulate/calls/cpu_fallback.h"
#include "emulate/runtime/generator.h"
#include "emulate/runtime/host_allocator.h"
#include "emulate/runtime/tensor.h"

namespace devsan::emulate {
namespace {

/// The operands on the host; a bias that is expanded in its own, smaller shape.
struct HostOperands {
  explicit HostOperands(const Attention& attention)
      : query(on_host(attention.query)), key(on_host(attention.key)), value(on_host(attention.value)) {
    if (!is_given(attention.bias)) return;
    bias = on_host(*attention.bias);
    for (std::int64_t dim = 0; dim < bias.dim(); ++dim) {
      if (bias.stride(dim) == 0) bias = bias.narrow(dim, 0, 1);
    }
  }

  [[nodiscard]] std::optional<at::Tensor> mask() const { return bias.defined() ? std::optional(bias) : std::nullopt; }

  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  at::Tensor bias;
};

at::Tensor compute(const Attention& attention, const HostOperands& operands) {
  const at::Generator numbers = generator_at(attention.seed.seed, attention.seed.offset);
  const CompositeNumbers scope(numbers);
  return std::get<0>(at::_scaled_dot_product_attention_math(
      operands.query, operands.key, operands.value, operands.mask(), attention.dropout,
      attention.causal != Causal::kNot, /*dropout_mask=*/std::nullopt, attention.scale, /*enable_gqa=*/false));
}

/// While it lives, operators of this thread are recorded by autograd, as they are not inside of a kernel.
class Recording {
 public:
  Recording() : keys_(recorded()) {}

 private:
  static c10::impl::LocalDispatchKeySet recorded() {
    c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
    keys.excluded_ = keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
    return keys;
  }

  c10::impl::ForceDispatchKeyGuard keys_;
  at::AutoGradMode grad_{true};
};

at::Tensor leaf(const at::Tensor& tensor) { return tensor.detach().requires_grad_(); }

/// The gradient of an expanded tensor from that of the one that was expanded: its elements are one, and their gradients
/// are summed.
at::Tensor expanded_gradient(const at::Tensor& grad, const at::Tensor& bias) {
  at::Tensor whole = at::zeros(bias.sizes(), grad.options());
  at::Tensor first = whole;
  for (std::int64_t dim = 0; dim < grad.dim(); ++dim) first = first.narrow(dim, 0, grad.size(dim));
  first.copy_(grad);
  return whole;
}

}  // namespace

bool suits_composite(const Attention& attention) {
  const bool is_square = attention.query.size(2) == attention.key.size(2);
  const bool is_causal = attention.causal != Causal::kNot;
  return attention.window_left < 0 && attention.window_right < 0 && !(is_causal && is_given(attention.bias)) &&
         (attention.causal != Causal::kFromBottomRight || is_square);
}

at::Tensor attend_by_composite(const Attention& attention) {
  const c10::Device device = attention.query.device();
  const at::AutoDispatchBelowADInplaceOrView below;
  const DeviceScope scope(device.index());
  return adopt(compute(attention, HostOperands(attention)), device);
}

AttentionGradients composite_backward(const Attention& attention, const at::Tensor& grad, bool wants_bias) {
  const c10::Device device = attention.query.device();
  const DeviceScope scope(device.index());
  HostOperands operands(attention);
  std::vector<at::Tensor> gradients;
  {
    const Recording recording;
    operands.query = leaf(operands.query);
    operands.key = leaf(operands.key);
    operands.value = leaf(operands.value);
    std::vector<at::Tensor> inputs{operands.query, operands.key, operands.value};
    if (wants_bias) inputs.push_back(operands.bias = leaf(operands.bias));
    gradients = torch::autograd::grad({compute(attention, operands)}, inputs, {on_host(grad)});
  }
  const at::AutoDispatchBelowADInplaceOrView below;
  if (wants_bias) gradients[3] = expanded_gradient(gradients[3], *attention.bias);
  for (at::Tensor& gradient : gradients) gradient = adopt(gradient.clone(), device);
  return {gradients[0], gradients[1], gradients[2], wants_bias ? gradients[3] : at::Tensor()};
}

}  // namespace devsan::emulate
