#include "emulate/calls/workspace_rows.h"

#include <array>

#include "emulate/calls/scan_table.h"

namespace devsan::emulate {
namespace {

/// aten/src/ATen/native/cuda/ScanUtils.cuh, scan_dim: the operand is made contiguous, and one row is scanned by cub.
/// @param type of the result, that the operand has been brought to
std::size_t scan(const at::Tensor& self, at::ScalarType type, std::int64_t dim) {
  if (self.dim() == 0 || self.numel() == 0) return 0;
  const bool copies = type != self.scalar_type() || !self.is_contiguous();
  const std::size_t copy = copies ? rounded(count_of(self) * c10::elementSize(type)) : 0;
  return copy + (self.size(dim) == self.numel() ? scan_table(count_of(self), type) : 0);
}

/// aten/src/ATen/native/ReduceOps.cpp, impl_func_cum_ops: whole numbers are brought to the type of the result first.
std::size_t sum_or_product(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  return scan(self, type_of_sum(arguments[2], self), arguments[1].toInt());
}

std::size_t logarithm_of_sum(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  return scan(self, self.scalar_type(), arguments[1].toInt());
}

}  // namespace

c10::ArrayRef<WorkspaceRow> scan_workspaces() {
  static constexpr auto kRows = std::to_array<WorkspaceRow>({
      {"aten::cumsum", &sum_or_product},
      {"aten::cumsum.out", &sum_or_product},
      {"aten::cumprod", &sum_or_product},
      {"aten::cumprod.out", &sum_or_product},
      {"aten::_logcumsumexp", &logarithm_of_sum},
      {"aten::_logcumsumexp.out", &logarithm_of_sum},
  });
  return kRows;
}

}  // namespace devsan::emulate
