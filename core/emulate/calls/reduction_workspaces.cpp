#include "emulate/calls/workspace_rows.h"

#include <array>
#include <vector>

#include <ATen/ExpandUtils.h>
#include <ATen/core/Reduction.h>
#include <c10/util/OptionalArrayRef.h>

#include "emulate/calls/reduction_buffers.h"

namespace devsan::emulate {
namespace {

std::size_t acc_of(const at::Tensor& self) { return accumulated_size(self.scalar_type()); }

/// Dimensions as an operator is given them: a list, a number, or none for all.
c10::OptionalArray<std::int64_t> dims_of(const c10::IValue& value) {
  if (value.isIntList()) return value.toIntVector();
  if (value.isInt()) return std::vector<std::int64_t>{value.toInt()};
  return {};
}

std::size_t sum(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  return sum_buffers(self, dims_of(arguments[1]), type_of_sum(arguments[3], self));
}

std::size_t product_of_all(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  return sum_buffers(self, std::nullopt, type_of_sum(arguments[1], self));
}

/// aten/src/ATen/native/SummaryOps.cpp, count_nonzero_cuda: (self != 0).sum(dim).
std::size_t count_nonzero(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  const std::size_t mask = self.scalar_type() == at::kBool ? 0 : count_of(self);
  return mask + count_of(self) * kLongBytes + reduction_buffers(self, dims_of(arguments[1]), kLongBytes);
}

std::size_t norm(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  return reduction_buffers(self, dims_of(arguments[2]), acc_of(self));
}

/// Which number is the largest, or smallest, among equals the first: a pair.
std::size_t place_of_extreme(Workspace::Arguments arguments) {
  return reduction_buffers(arguments[0].toTensor(), dims_of(arguments[1]), 2 * kLongBytes);
}

std::size_t extreme(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  return reduction_buffers(self, dims_of(arguments[1]), self.itemsize());
}

std::size_t extreme_of_all(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  return reduction_buffers(self, std::nullopt, self.itemsize());
}

/// aten/src/ATen/native/SharedReduceOps.h, WelfordData: mean, squares, and how many, twice.
std::size_t variance(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  return reduction_buffers(self, dims_of(arguments[1]), 4 * acc_of(self));
}

/// aten/src/ATen/native/Loss.cpp: the losses of all elements, which are then reduced.
std::size_t reduced_loss(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  const at::Tensor& target = arguments[1].toTensor();
  if (arguments[2].toInt() == at::Reduction::None) return 0;
  const auto sizes = at::infer_size_dimvector(self.sizes(), target.sizes());
  const at::ScalarType type = at::promoteTypes(self.scalar_type(), target.scalar_type());
  return static_cast<std::size_t>(c10::multiply_integers(sizes)) * c10::elementSize(type) +
         reduction_buffers(self, std::nullopt, acc_of(self));
}

/// cuda/Loss.cu, binary_cross_entropy_out_cuda: what is reduced is copied back into the losses, whose memory stays.
std::size_t cross_entropy_of_two(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  if (arguments[3].toInt() == at::Reduction::None) return 0;
  return kLongBytes + reduction_buffers(self, std::nullopt, acc_of(self));
}

/// aten/src/ATen/native/cuda/Equal.cpp, cuda_equal: (self == other).all().
std::size_t equality(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  const at::Tensor& other = arguments[1].toTensor();
  const bool compares = self.sizes() == other.sizes() && self.numel() > 0 && !self.is_alias_of(other);
  if (!compares || self.layout() != at::kStrided) return 0;
  const std::size_t flags = self.scalar_type() == at::kBool ? count_of(self) : 0;
  return flags + sum_buffers(self, std::nullopt, at::kBool) + rounded(1);
}

}  // namespace

c10::ArrayRef<WorkspaceRow> reduction_workspaces() {
  static constexpr auto kRows = std::to_array<WorkspaceRow>({
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
      {"aten::equal", &equality},
      {"aten::std.correction", &variance},
      {"aten::var.correction", &variance},
      {"aten::std_mean.correction", &variance},
      {"aten::var_mean.correction", &variance},
  });
  return kRows;
}

}  // namespace devsan::emulate
