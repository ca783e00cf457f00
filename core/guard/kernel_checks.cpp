#include "guard/kernel_checks.h"

#include <algorithm>
#include <array>

namespace devsan::guard {
namespace {

/// Operators that may join devices: a copy is what they do, or they look at no element.
bool accept(const Call& /*call*/) { return true; }

constexpr std::array kAccepted{
    KernelCheck{.op = "aten::fill_.Tensor", .check = accept, .host_scalars = 1},
    KernelCheck{.op = "aten::bernoulli_.Tensor", .check = accept, .host_scalars = 1},
    KernelCheck{.op = "aten::bernoulli.out", .check = accept},
    KernelCheck{.op = "aten::is_set_to", .check = accept},
    KernelCheck{.op = "aten::is_same_size", .check = accept},
    KernelCheck{.op = "aten::_foreach_copy_", .check = accept},
    KernelCheck{.op = "aten::_validate_sparse_coo_tensor_args", .check = accept},
    KernelCheck{.op = "aten::_nested_view_from_buffer", .check = accept},  // sizes, strides and offsets are CPU tensors
    KernelCheck{.op = "aten::_nested_view_from_buffer_copy", .check = accept},
    KernelCheck{.op = "aten::_nested_from_padded", .check = accept},
};

const KernelCheck* find_check(std::string_view op, bool is_further) {
  const std::span<const KernelCheck> families[] = {kAccepted,         elementwise_checks(), scalar_checks(),
                                                   indexing_checks(), list_checks(),        network_checks()};
  for (const std::span<const KernelCheck> family : families) {
    const auto found = std::ranges::find_if(
        family, [&](const KernelCheck& each) { return each.op == op && each.is_further == is_further; });
    if (found != family.end()) return &*found;
  }
  return nullptr;
}

}  // namespace

bool has_kernel_check(std::string_view op) { return find_check(op, /*is_further=*/false) != nullptr; }

bool has_further_check(std::string_view op) { return find_check(op, /*is_further=*/true) != nullptr; }

int free_host_scalars(std::string_view op) {
  const KernelCheck* found = find_check(op, /*is_further=*/false);
  return found == nullptr ? 0 : found->host_scalars;
}

bool check_kernel(std::string_view op, const Call& call) {
  const KernelCheck* found = find_check(op, /*is_further=*/false);
  return found != nullptr && found->check(call);
}

void check_further(std::string_view op, const Call& call) {
  if (const KernelCheck* found = find_check(op, /*is_further=*/true)) found->check(call);
}

}  // namespace devsan::guard
