#include "emulate/calls/reduction_buffers.h"

#include <algorithm>
#include <bit>

#include <ATen/TensorIterator.h>
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/ceil_div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

#include "emulate/runtime/device.h"

namespace devsan::emulate {
namespace {

constexpr std::int64_t kAllocation = 512;  // each of the two buffers is an allocation of its own

/// last_pow2.
std::int64_t power_of_two_below(std::int64_t number) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(number, 1))));
}

/// How the threads of a reduction divide its numbers: ReduceConfig, as far as its memory follows from it.
class Division {
 public:
  Division(const at::TensorIterator& iter, const model::DeviceSpec& gpu, std::int64_t element, std::int64_t item)
      : element_(element), outputs_(iter.num_output_elements()), inputs_(iter.numel() / outputs_) {
    if (iter.ndim() == 0) return;
    const int input = iter.ntensors() - 1;
    const int reduced = iter.num_reduce_dims();
    const bool along_input = reduced == iter.ndim() || iter.strides(input)[0] < iter.strides(input)[reduced];
    std::int64_t across = along_input ? inputs_ : outputs_;
    const std::int64_t down = along_input ? outputs_ : inputs_;
    if (iter.strides(input)[along_input ? 0 : reduced] == item) {
      if (along_input && across > 128 && iter.ndim() == 1) {
        across /= kVector;
      } else if (!along_input) {
        vector_ = output_vector(iter, reduced, item);
        across /= vector_;
      }
    }
    set_block(across, down);
    divide(gpu, along_input);
  }

  [[nodiscard]] std::int64_t bytes() const {
    if (blocks_per_output_ <= 1) return 0;
    std::int64_t kept = element_ * outputs_ * blocks_per_output_;
    if (!shares_row_) kept *= width_ * vector_;
    return at::round_up(kept, kAllocation) + grid_ * static_cast<std::int64_t>(sizeof(int));
  }

 private:
  static constexpr std::int64_t kVector = 4;
  static constexpr std::int64_t kThreads = 512;
  static constexpr std::int64_t kWarp = 32;

  /// get_output_vec_size; a tensor begins where an allocation does, which is aligned.
  static std::int64_t output_vector(const at::TensorIterator& iter, int output, std::int64_t item) {
    std::int64_t vector = kVector;
    const auto divides = [&](std::int64_t number) {
      while (number % vector != 0) vector /= 2;
    };
    divides(iter.shape()[output]);
    const auto strides = iter.strides(iter.ntensors() - 1);
    for (int dim = 0; dim < iter.ndim(); ++dim) {
      if (dim != output) divides(strides[dim] / item);
    }
    return vector;
  }

  void set_block(std::int64_t across, std::int64_t down) {
    const std::int64_t most = kThreads / vector_;
    const std::int64_t wide = across < most ? power_of_two_below(across) : most;
    const std::int64_t high = down < most ? power_of_two_below(down) : most;
    width_ = std::min(wide, kWarp);
    height_ = std::min(high, most / width_);
    width_ = std::min(wide, most / height_);
  }

  [[nodiscard]] std::int64_t values_per_thread() const { return at::ceil_div(inputs_, step_input_); }

  void divide(const model::DeviceSpec& gpu, bool along_input) {
    constexpr std::int64_t kFew = 16;
    constexpr std::int64_t kMany = 256;
    std::int64_t step_output = 1;
    shares_row_ = along_input;
    (along_input ? step_input_ : step_output) *= width_;
    const bool shares_column = values_per_thread() >= std::min(height_ * kFew, kMany);
    (shares_column ? step_input_ : step_output) *= height_;
    grid_ = at::ceil_div(outputs_ / vector_, step_output);
    const std::int64_t blocks = gpu.multi_processor_count * (gpu.max_threads_per_multi_processor / (width_ * height_));
    if (!shares_column || values_per_thread() < kMany || grid_ > blocks) return;
    const std::int64_t values = values_per_thread();
    blocks_per_output_ =
        std::max(std::min(at::ceil_div(blocks, grid_), at::ceil_div(values, kFew)), at::ceil_div(values, kMany));
  }

  std::int64_t element_;
  std::int64_t outputs_;
  std::int64_t inputs_;
  std::int64_t vector_ = 1;
  std::int64_t width_ = 1;
  std::int64_t height_ = 1;
  std::int64_t step_input_ = 1;
  bool shares_row_ = true;
  std::int64_t grid_ = 1;
  std::int64_t blocks_per_output_ = 1;
};

/// @param type that the operand is read as
std::size_t buffers(const at::Tensor& self, at::OptionalIntArrayRef dims, at::ScalarType type, std::size_t element) {
  // Fewer numbers than this for each result are never shared by blocks.
  constexpr std::int64_t kShared = 256;
  if (!self.is_cuda() || self.layout() != at::kStrided || self.is_nested() || self.numel() < kShared) return 0;
  const auto reduced = at::dim_list_to_bitset(dims, static_cast<std::size_t>(self.dim()));
  const bool all = !dims.has_value() || dims->empty();
  at::DimVector kept(self.sizes());
  for (std::size_t dim = 0; dim < kept.size(); ++dim) {
    if (all || reduced[dim]) kept[dim] = 1;
  }
  const std::int64_t outputs = c10::multiply_integers(kept);
  if (outputs == 0 || self.numel() / outputs < kShared) return 0;
  const auto options = at::TensorOptions(at::kMeta).dtype(type);
  const at::Tensor input = at::empty_strided(self.sizes(), self.strides(), options);
  at::Tensor output = at::empty(kept, options);
  const at::TensorIterator iter = at::TensorIterator::reduce_op(output, input);
  const Division division(iter, device(self.device().index()).spec, static_cast<std::int64_t>(element),
                          static_cast<std::int64_t>(c10::elementSize(type)));
  return static_cast<std::size_t>(division.bytes());
}

}  // namespace

std::size_t accumulated_size(at::ScalarType type) {
  if (type == at::kComplexHalf) return sizeof(c10::complex<float>);
  if (at::isFloatingType(type)) return std::max(c10::elementSize(type), sizeof(float));
  return at::isIntegralType(type, /*includeBool=*/false) ? sizeof(std::int64_t) : c10::elementSize(type);
}

std::size_t reduction_buffers(const at::Tensor& self, at::OptionalIntArrayRef dims, std::size_t element) {
  return buffers(self, dims, self.scalar_type(), element);
}

std::size_t sum_buffers(const at::Tensor& self, at::OptionalIntArrayRef dims, at::ScalarType type) {
  const bool is_low = self.scalar_type() == at::kHalf || self.scalar_type() == at::kBFloat16;
  const bool converts = self.scalar_type() != type && !(is_low && type == at::kFloat);
  const at::ScalarType read = converts ? type : self.scalar_type();
  const std::size_t copy = converts ? static_cast<std::size_t>(self.numel()) * c10::elementSize(type) : 0;
  return copy + buffers(self, dims, read, accumulated_size(read));
}

}  // namespace devsan::emulate
