#include "emulate/calls/workspaces.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <ATen/ExpandUtils.h>
#include <ATen/core/Reduction.h>
#include <c10/util/OptionalArrayRef.h>

#include "emulate/calls/convolution_copies.h"
#include "emulate/calls/reduction_buffers.h"
#include "emulate/runtime/cublas.h"
#include "emulate/runtime/kernel_memory.h"

namespace devsan::emulate {
namespace {

using Arguments = Workspace::Arguments;
using Bytes = decltype(Workspace::bytes);

constexpr std::size_t kLong = sizeof(std::int64_t);

std::size_t count_of(const at::Tensor& tensor) { return static_cast<std::size_t>(tensor.numel()); }

/// cub::DeviceRadixSort::SortPairs, which does not write its operands: a second buffer of keys, and one of values.
std::size_t sorted_pairs(std::size_t count, std::size_t key) { return count * (key + kLong); }

/// aten/src/ATen/native/cuda/Embedding.cu, embedding_dense_backward_cuda, and EmbeddingBackwardKernel.cu,
/// embedding_backward_cuda_kernel: beyond 3072 indices they are sorted, and gradients are summed by parts of ten rows.
std::size_t embedding_backward(Arguments arguments) {
  constexpr std::size_t kUnsorted = 3072;
  constexpr std::size_t kRows = 10;
  constexpr std::size_t kWarp = 32;
  const at::Tensor& grad = arguments[0].toTensor();
  const at::Tensor& indices = arguments[1].toTensor();
  const auto weights = static_cast<std::size_t>(arguments[2].toInt());
  const bool by_frequency = arguments[4].toBool();
  const std::size_t count = count_of(indices);
  if (count == 0 || (count <= kUnsorted && !by_frequency)) return 0;
  const std::size_t sorted = 2 * count * indices.itemsize();
  const std::size_t frequencies = by_frequency ? count * indices.itemsize() : 0;
  const std::size_t segments = std::min(count, weights);
  const std::size_t parts = count / kRows + segments;
  const std::size_t width = (count_of(grad) / count + kWarp - 1) / kWarp * kWarp;
  const std::size_t sums = parts * width * accumulated_size(grad.scalar_type());
  const std::size_t offsets = (count + 2 * segments + parts) * indices.itemsize();
  return sorted + std::max(sorted_pairs(count, indices.itemsize()), frequencies + offsets + sums);
}

/// aten/src/ATen/native/cuda/Sort.cpp, sort_cuda_kernel, and SortStable.cu, launch_stable_sort_kernel: up to 4096 elements
/// are sorted in place; the rows of fewer than 128 one after the other, otherwise all together.
std::size_t sorted_rows(const at::Tensor& self, std::int64_t dim) {
  constexpr std::size_t kInPlace = 4096;
  constexpr std::size_t kFewRows = 128;
  if (self.dim() == 0 || self.numel() == 0) return 0;
  const auto length = static_cast<std::size_t>(self.size(dim));
  if (length <= kInPlace) return 0;
  const std::size_t together = count_of(self) / length < kFewRows ? length : count_of(self);
  return together * kLong + sorted_pairs(together, self.itemsize());
}

std::size_t stable_sort(Arguments arguments) { return sorted_rows(arguments[0].toTensor(), arguments[2].toInt()); }

/// aten/src/ATen/native/cuda/Indexing.cu, index_put_with_sort_kernel, which adds up what meets in one place: the places of
/// all values, sorted, with where they come from.
std::size_t accumulating_put(Arguments arguments) {
  if (!arguments[3].toBool()) return 0;
  at::DimVector shape;
  for (const c10::IValue& index : arguments[1].toListRef()) {
    if (!index.isTensor() || !index.toTensor().defined() || index.toTensor().scalar_type() == at::kBool) continue;
    shape = at::infer_size_dimvector(shape, index.toTensor().sizes());
  }
  if (shape.empty()) return 0;
  const auto count = static_cast<std::size_t>(c10::multiply_integers(shape));
  return 3 * count * kLong + sorted_pairs(count, kLong);
}

/// aten/src/ATen/native/cuda/SoftMax.cu, softmax_backward_cuda_out: the product of gradient and result, which that of the
/// logarithm does without.
std::size_t softmax_backward(Arguments arguments) {
  const at::Tensor& grad = arguments[0].toTensor();
  return count_of(grad) * grad.itemsize();
}

std::size_t acc_of(const at::Tensor& self) { return accumulated_size(self.scalar_type()); }

/// Dimensions as an operator is given them: a list, a number, or none for all.
c10::OptionalArray<std::int64_t> dims_of(const c10::IValue& value) {
  if (value.isIntList()) return value.toIntVector();
  if (value.isInt()) return std::vector<std::int64_t>{value.toInt()};
  return {};
}

/// Of a result whose type may be given; sums of whole numbers are int64.
at::ScalarType type_of(const c10::IValue& given, const at::Tensor& self) {
  if (given.isInt()) return given.toScalarType();
  return at::isIntegralType(self.scalar_type(), /*includeBool=*/true) ? at::kLong : self.scalar_type();
}

std::size_t sum(Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  return sum_buffers(self, dims_of(arguments[1]), type_of(arguments[3], self));
}

std::size_t product_of_all(Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  return sum_buffers(self, std::nullopt, type_of(arguments[1], self));
}

/// aten/src/ATen/native/SummaryOps.cpp, count_nonzero_cuda: (self != 0).sum(dim).
std::size_t count_nonzero(Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  const std::size_t mask = self.scalar_type() == at::kBool ? 0 : count_of(self);
  return mask + count_of(self) * kLong + reduction_buffers(self, dims_of(arguments[1]), kLong);
}

std::size_t norm(Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  return reduction_buffers(self, dims_of(arguments[2]), acc_of(self));
}

/// Which number is the largest, or smallest, among equals the first: a pair.
std::size_t place_of_extreme(Arguments arguments) {
  return reduction_buffers(arguments[0].toTensor(), dims_of(arguments[1]), 2 * kLong);
}

std::size_t extreme(Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  return reduction_buffers(self, dims_of(arguments[1]), self.itemsize());
}

std::size_t extreme_of_all(Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  return reduction_buffers(self, std::nullopt, self.itemsize());
}

/// aten/src/ATen/native/SharedReduceOps.h, WelfordData: mean, squares, and how many, twice.
std::size_t variance(Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  return reduction_buffers(self, dims_of(arguments[1]), 4 * acc_of(self));
}

/// aten/src/ATen/native/Loss.cpp: the losses of all elements, which are then reduced.
std::size_t reduced_loss(Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  const at::Tensor& target = arguments[1].toTensor();
  if (arguments[2].toInt() == at::Reduction::None) return 0;
  const auto sizes = at::infer_size_dimvector(self.sizes(), target.sizes());
  const at::ScalarType type = at::promoteTypes(self.scalar_type(), target.scalar_type());
  return static_cast<std::size_t>(c10::multiply_integers(sizes)) * c10::elementSize(type) +
         reduction_buffers(self, std::nullopt, acc_of(self));
}

/// cuda/Loss.cu, binary_cross_entropy_out_cuda: what is reduced is copied back into the losses, whose memory stays.
std::size_t cross_entropy_of_two(Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  if (arguments[3].toInt() == at::Reduction::None) return 0;
  return kLong + reduction_buffers(self, std::nullopt, acc_of(self));
}

const std::unordered_map<std::string, Bytes>& rows() {
  static const std::unordered_map<std::string, Bytes> rows{
      {"aten::embedding_dense_backward", &embedding_backward},
      {"aten::sort.stable", &stable_sort},
      {"aten::sort.values_stable", &stable_sort},
      {"aten::_index_put_impl_", &accumulating_put},
      {"aten::_softmax_backward_data", &softmax_backward},
      {"aten::convolution", &convolution_copies},
      {"aten::convolution_backward", &convolution_backward_copies},
      {"aten::mse_loss", &reduced_loss},
      {"aten::smooth_l1_loss", &reduced_loss},
      {"aten::huber_loss", &reduced_loss},
      {"aten::binary_cross_entropy", &cross_entropy_of_two},
      {"aten::sum.dim_IntList", &sum},
      {"aten::sum.IntList_out", &sum},
      {"aten::mean.dim", &sum},
      {"aten::mean.out", &sum},
      {"aten::nansum", &sum},
      {"aten::prod", &product_of_all},
      {"aten::prod.dim_int", &sum},
      {"aten::count_nonzero.dim_IntList", &count_nonzero},
      {"aten::linalg_vector_norm", &norm},
      {"aten::linalg_vector_norm.out", &norm},
      {"aten::argmax", &place_of_extreme},
      {"aten::argmin", &place_of_extreme},
      {"aten::max.dim", &place_of_extreme},
      {"aten::min.dim", &place_of_extreme},
      {"aten::amax", &extreme},
      {"aten::amin", &extreme},
      {"aten::any.dim", &extreme},
      {"aten::all.dim", &extreme},
      {"aten::any", &extreme_of_all},
      {"aten::all", &extreme_of_all},
      {"aten::max", &extreme_of_all},
      {"aten::min", &extreme_of_all},
      {"aten::std.correction", &variance},
      {"aten::var.correction", &variance},
      {"aten::std_mean.correction", &variance},
      {"aten::var_mean.correction", &variance},
  };
  return rows;
}

/// aten/src/ATen/native/cuda/Blas.cpp and LinearAlgebra.cpp: what calls at::cuda::blas.
bool uses_cublas(const std::string& name) {
  static const std::unordered_set<std::string> names{
      "_addmm_activation", "_int_mm", "_scaled_mm", "addbmm", "addmm", "addmv",
      "baddbmm",           "bmm",     "dot",        "mm",     "mv",    "vdot"};
  if (name.rfind("aten::", 0) != 0) return false;
  std::string base = name.substr(6, name.find('.') - 6);
  if (!base.empty() && base.back() == '_') base.pop_back();
  return names.count(base) != 0;
}

}  // namespace

Workspace workspace_of(const std::string& name) {
  const auto row = rows().find(name);
  return {row == rows().end() ? nullptr : row->second, uses_cublas(name)};
}

void take_workspace(const Workspace& workspace, std::size_t bytes, c10::Device device) {
  if (KernelMemory::current() != nullptr) return;
  if (workspace.uses_cublas) use_cublas(device.index());
  if (bytes != 0) KernelMemory(device.index()).scratch(bytes);
}

}  // namespace devsan::emulate
