#include "emulate/operators/networks/dropout.h"

#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include "emulate/runtime/generator.h"
#include "emulate/runtime/host_allocator.h"
#include "emulate/runtime/tensor.h"

namespace devsan::emulate {
namespace {

std::tuple<at::Tensor, at::Tensor> drop(const at::Tensor& input, double keep, const at::Generator& generator,
                                        at::ScalarType mask_type) {
  const c10::Device device = input.device();
  const at::AutoDispatchBelowADInplaceOrView below;
  const DeviceScope scope(device.index());
  const at::Tensor host = host_alias(input);
  at::Tensor mask = at::empty_like(host, host.options().dtype(mask_type));
  mask.bernoulli_(keep, host_generator(generator, device.index()));
  at::Tensor output = host.mul(mask).mul_(keep == 0.0 ? 0.0 : 1.0 / keep);
  return {adopt(std::move(output), device), adopt(std::move(mask), device)};
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double probability,
                                                  std::optional<bool> train) {
  if (train.has_value() && !*train) return {input.clone(), at::ones_like(input, input.options().dtype(at::kBool))};
  return drop(input, 1.0 - probability, at::Generator(), at::kBool);
}

std::tuple<at::Tensor, at::Tensor> fused_dropout(const at::Tensor& input, double keep,
                                                 std::optional<at::Generator> generator) {
  return drop(input, keep, generator.value_or(at::Generator()), at::kByte);
}

at::Tensor masked_scale(const at::Tensor& input, const at::Tensor& mask, double scale) {
  TORCH_CHECK(mask.scalar_type() == at::kByte, "mask should be torch.uint8 dtype");
  return at::mul(input, mask).mul_(scale);
}

}  // namespace devsan::emulate
