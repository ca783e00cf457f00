#include "emulate/runtime/quantized_tensor.h"

#include <ATen/Functions.h>
#include <ATen/quantized/QTensorImpl.h>
#include <ATen/quantized/Quantizer.h>

#include "emulate/runtime/host_allocator.h"
#include "emulate/runtime/tensor.h"

namespace devsan::emulate {
namespace {

const at::PerChannelAffineQuantizer& per_channel(const at::Tensor& tensor) {
  auto* quantizer = dynamic_cast<at::PerChannelAffineQuantizer*>(at::get_qtensorimpl(tensor)->quantizer().get());
  TORCH_CHECK(quantizer != nullptr, "expected a tensor that is quantized per channel, got one with scheme ",
              at::toString(at::get_qtensorimpl(tensor)->quantizer()->qscheme()));
  return *quantizer;
}

/// The quantizer keeps its own.
at::Tensor copy_onto(const at::Tensor& host, c10::Device device) {
  const DeviceScope scope(device.index());
  return adopt(host.clone(), device);
}

}  // namespace

at::Tensor quantized_alias(const at::Tensor& tensor, c10::Storage&& host) {
  const c10::TensorImpl* shape = tensor.unsafeGetTensorImpl();
  at::Tensor alias =
      at::detail::make_tensor<at::QTensorImpl>(std::move(host), c10::DispatchKeySet(c10::DispatchKey::QuantizedCPU),
                                               shape->dtype(), at::get_qtensorimpl(tensor)->quantizer());
  alias.unsafeGetTensorImpl()->set_sizes_and_strides(shape->sizes(), shape->strides(), shape->storage_offset());
  return alias;
}

void follow_quantizer(const at::Tensor& tensor, const at::Tensor& alias) {
  at::get_qtensorimpl(tensor)->set_quantizer_(at::get_qtensorimpl(alias)->quantizer());
}

at::Tensor per_channel_scales(const at::Tensor& tensor) {
  return copy_onto(per_channel(tensor).scales(), tensor.device());
}

at::Tensor per_channel_zero_points(const at::Tensor& tensor) {
  return copy_onto(per_channel(tensor).zero_points(), tensor.device());
}

}  // namespace devsan::emulate
