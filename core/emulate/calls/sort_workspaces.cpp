#include "emulate/calls/workspace_rows.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <ATen/WrapDimUtils.h>

#include "emulate/calls/radix_sort.h"
#include "emulate/calls/reduction_buffers.h"
#include "emulate/runtime/device.h"

namespace devsan::emulate {
namespace {

using Arguments = Workspace::Arguments;

/// A sort on the GPU of `tensor`.
template <typename... Sizes>
std::size_t buffers_at(const at::Tensor& tensor, Sizes... sizes) {
  return radix_sort_buffers(device(tensor.device().index()).spec, sizes...);
}

/// aten/src/ATen/native/cuda/EmbeddingBackwardKernel.cu, embedding_backward_cuda_kernel: indices are sorted, and gradients
/// are summed by parts of ten rows.
std::size_t sorted_gradients(const at::Tensor& grad, const at::Tensor& indices, std::int64_t weights,
                             bool by_frequency) {
  constexpr std::size_t kRows = 10;
  constexpr std::size_t kWarp = 32;
  const std::size_t count = count_of(indices);
  const std::size_t index = indices.itemsize();
  const std::size_t sorted = 2 * count * index;
  const std::size_t frequencies = by_frequency ? count * index : 0;
  const std::size_t segments = std::min(count, static_cast<std::size_t>(weights));
  const std::size_t parts = count / kRows + segments;
  const std::size_t width = (static_cast<std::size_t>(grad.size(-1)) + kWarp - 1) / kWarp * kWarp;
  const std::size_t sums = parts * width * accumulated_size(grad.scalar_type());
  const std::size_t offsets = (count + 2 * segments + parts) * index;
  return sorted + std::max(buffers_at(grad, count, index, index), frequencies + offsets + sums);
}

/// aten/src/ATen/native/cuda/Embedding.cu, embedding_dense_backward_cuda: up to 3072 indices are not sorted.
std::size_t embedding_backward(Arguments arguments) {
  constexpr std::size_t kUnsorted = 3072;
  const at::Tensor& indices = arguments[1].toTensor();
  const bool by_frequency = arguments[4].toBool();
  const bool unsorted = count_of(indices) <= kUnsorted && !by_frequency;
  if (unsorted || indices.numel() == 0) return 0;
  return sorted_gradients(arguments[0].toTensor(), indices, arguments[2].toInt(), by_frequency);
}

/// aten/src/ATen/native/cuda/EmbeddingBag.cu, embedding_bag_backward_cuda_sum_avg, which _embedding_bag_backward calls
/// where the gradient is not sparse. The largest of a bag is not sorted.
std::size_t bag_backward(Arguments arguments) {
  constexpr std::int64_t kMax = 2;
  const at::Tensor& indices = arguments[1].toTensor();
  if (indices.numel() == 0 || arguments[8].toInt() == kMax || arguments[9].toBool()) return 0;
  return sorted_gradients(arguments[0].toTensor(), indices, arguments[6].toInt(), arguments[7].toBool());
}

std::size_t stable_sort(Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  if (self.dim() == 0) return 0;
  return sorted_rows(self, count_of(self), static_cast<std::size_t>(self.size(arguments[2].toInt())));
}

/// aten/src/ATen/native/cuda/Sorting.cpp, median_impl: all elements are sorted.
std::size_t median_of_all(Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  return count_of(self) * (self.itemsize() + kLongBytes) + sorted_rows(self, count_of(self), count_of(self));
}

/// aten/src/ATen/native/cuda/UniqueCub.cu, UniqueCub: the sorted elements, which take as much as what is kept; for the
/// inverse their places before and after, one of which is gone when the inverse is made. Booleans are counted.
std::size_t unique(Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  const bool inverse = arguments[2].toBool();
  if (self.scalar_type() == at::kBool) return 0;
  const std::size_t count = count_of(self);
  return (inverse ? count * kLongBytes : 0) + buffers_at(self, count, self.itemsize(), inverse ? kLongBytes : 0);
}

/// aten/src/ATen/native/cuda/Unique.cu, unique_dim_cuda_template: what is compared is moved to the front, and its places are
/// sorted.
std::size_t unique_along(const at::Tensor& self, std::int64_t dim) {
  if (self.dim() == 0 || self.numel() == 0) return 0;
  dim = at::maybe_wrap_dim(dim, self.dim());
  const bool is_moved = dim != 0 || !self.is_contiguous();
  return (is_moved ? rounded(count_of(self) * self.itemsize()) : 0) +
         rounded(static_cast<std::size_t>(self.size(dim)) * kLongBytes);
}

std::size_t unique_along_dim(Arguments arguments) {
  return unique_along(arguments[0].toTensor(), arguments[1].toInt());
}

std::size_t unique_consecutive(Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  return arguments[3].isNone() || self.dim() == 1 ? 0 : unique_along(self, arguments[3].toInt());
}

/// aten/src/ATen/native/cuda/Randperm.cu, randperm_out_cuda: beyond 30000 numbers random keys are sorted, of so many bits
/// that two are seldom the same.
std::size_t random_order(Arguments arguments) {
  constexpr std::int64_t kOnHost = 30000;
  constexpr double kBitsOfInt = 32;
  const std::int64_t count = arguments[0].toInt();
  if (count < kOnHost) return 0;
  const auto number = static_cast<double>(count);
  const double bits = std::min(64.0, std::ceil(std::log2(number - (6 * number * number + 1) / (12 * std::log(0.9)))));
  const std::size_t key = bits <= kBitsOfInt ? sizeof(std::int32_t) : kLongBytes;
  const at::Tensor& result = arguments.back().toTensor();
  const auto size = static_cast<std::size_t>(count);
  return size * (2 * key + result.itemsize()) +
         buffers_at(result, size, key, result.itemsize(), static_cast<std::size_t>(bits));
}

}  // namespace

/// aten/src/ATen/native/cuda/Sort.cpp, sort_cuda_kernel, and SortStable.cu, launch_stable_sort_kernel: up to 4096 elements
/// are sorted in place, beside the places of one row. Long rows are sorted one after the other; a few rows in one sort of
/// pairs of a row and a place; many rows side by side.
std::size_t sorted_rows(const at::Tensor& self, std::size_t count, std::size_t length) {
  constexpr std::size_t kInPlace = 4096;
  constexpr std::size_t kLongRow = 1000000;
  constexpr std::size_t kFewRows = 128;
  if (count == 0) return 0;
  if (length <= kInPlace) return length * kLongBytes;
  const std::size_t key = self.itemsize();
  const std::size_t rows = count / length;
  if (rows == 1 || length >= kLongRow) {
    return length * kLongBytes + buffers_at(self, length, key, kLongBytes);
  }
  if (rows < kFewRows) return count * (2 * kLongBytes + key) + buffers_at(self, count, key, kLongBytes);
  return count * (kLongBytes + key + kLongBytes);
}

c10::ArrayRef<WorkspaceRow> sort_workspaces() {
  static constexpr auto kRows = std::to_array<WorkspaceRow>({
      {"aten::embedding_dense_backward", &embedding_backward},
      {"aten::_embedding_bag_backward", &bag_backward},
      {"aten::sort.stable", &stable_sort},
      {"aten::sort.values_stable", &stable_sort},
      {"aten::median", &median_of_all},
      {"aten::nanmedian", &median_of_all},
      {"aten::_unique2", &unique},
      {"aten::_unique", &unique},
      {"aten::unique_dim", &unique_along_dim},
      {"aten::unique_dim_consecutive", &unique_along_dim},
      {"aten::unique_consecutive", &unique_consecutive},
      {"aten::randperm.generator_out", &random_order},
  });
  return kRows;
}

}  // namespace devsan::emulate
