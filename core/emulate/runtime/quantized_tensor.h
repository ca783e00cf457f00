#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

// NOTE [Quantized tensors on an emulated GPU]
// A quantized tensor has bytes, and a quantizer that says what they mean. One on an emulated GPU is the CPU's own with
// its storage exchanged; both sides share the quantizer, whose per-channel scales stay in host memory. CUDA has few
// operators for such tensors, and so has an emulated GPU: see is_quantized_on_cuda in intercept/operator_lists.h.

inline bool is_quantized(const c10::TensorImpl& impl) noexcept {
  return impl.key_set().has(c10::DispatchKey::Quantized);
}

/// A quantized CPU tensor on `host`, with the sizes, strides and quantizer of `tensor`.
at::Tensor quantized_alias(const at::Tensor& tensor, c10::Storage&& host);

/// Gives `tensor` the quantizer of `alias`, after a kernel that wrote it.
void follow_quantizer(const at::Tensor& tensor, const at::Tensor& alias);

/// aten::q_per_channel_scales and aten::q_per_channel_zero_points, on the tensor's device.
at::Tensor per_channel_scales(const at::Tensor& tensor);
at::Tensor per_channel_zero_points(const at::Tensor& tensor);

}  // namespace devsan::emulate
