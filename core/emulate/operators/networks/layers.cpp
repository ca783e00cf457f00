#include "emulate/operators/networks/layers.h"

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

// aten/src/ATen/native/GridSamplerUtils.h: GridSamplerInterpolation::Bilinear and GridSamplerPadding::Zeros.
constexpr std::int64_t kBilinear = 0;
constexpr std::int64_t kZeros = 0;

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

bool use_no_ctc_library(const at::Tensor& /*log_probs*/, const at::Tensor& /*targets*/,
                        at::IntArrayRef /*input_lengths*/, at::IntArrayRef /*target_lengths*/, std::int64_t /*blank*/) {
  return false;
}

bool use_no_ctc_library_for_lengths(const at::Tensor& /*log_probs*/, const at::Tensor& /*targets*/,
                                    const at::Tensor& /*input_lengths*/, const at::Tensor& /*target_lengths*/,
                                    std::int64_t /*blank*/) {
  return false;
}

at::Tensor cudnn_grid_sampler(const at::Tensor& input, const at::Tensor& grid) {
  return at::grid_sampler_2d(input, grid, kBilinear, kZeros, /*align_corners=*/true);
}

std::tuple<at::Tensor, at::Tensor> cudnn_grid_sampler_backward(const at::Tensor& input, const at::Tensor& grid,
                                                               const at::Tensor& grad) {
  return at::grid_sampler_2d_backward(grad, input, grid, kBilinear, kZeros, /*align_corners=*/true, {true, true});
}

at::Tensor cudnn_affine_grid_generator(const at::Tensor& theta, std::int64_t batch, std::int64_t channels,
                                       std::int64_t height, std::int64_t width) {
  return at::affine_grid_generator(theta, {batch, channels, height, width}, /*align_corners=*/true);
}

at::Tensor cudnn_affine_grid_generator_backward(const at::Tensor& grad, std::int64_t batch, std::int64_t channels,
                                                std::int64_t height, std::int64_t width) {
  return at::affine_grid_generator_backward(grad, {batch, channels, height, width}, /*align_corners=*/true);
}

}  // namespace devsan::emulate
