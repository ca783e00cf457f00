#include "emulate/calls/full_size/stand_ins.h"

#include <algorithm>
#include <cstring>

#include <ATen/Dispatch_v2.h>
#include <ATen/ExpandUtils.h>

#include "emulate/runtime/full_size/unknown.h"

namespace devsan::emulate {
namespace {

/// An operator asks whether something is so for all elements.
bool asks_for_all(std::string_view op) { return op == "aten::all" || op.starts_with("aten::all."); }

template <typename Number>
void fill(const at::Tensor& host, Number number) {
  auto* first = static_cast<Number*>(host.unsafeGetTensorImpl()->unsafe_storage().mutable_data());
  std::fill_n(first, host.storage().nbytes() / sizeof(Number), number);
}

at::Tensor chosen(std::vector<std::int64_t> sizes, at::ScalarType dtype) {
  return make_unknown(sizes, dtype, at::MemoryFormat::Contiguous);
}

}  // namespace

void write_stand_ins(const at::Tensor& host, std::string_view op) {
  if (host.storage().nbytes() == 0) return;
  std::memset(host.unsafeGetTensorImpl()->unsafe_storage().mutable_data(), 0, host.storage().nbytes());
  if (host.scalar_type() == at::kBool) {
    if (asks_for_all(op)) fill(host, true);
    return;
  }
  if (!at::isFloatingType(host.scalar_type()) && !at::isComplexType(host.scalar_type())) return;
  AT_DISPATCH_V2(host.scalar_type(), "write_stand_ins", AT_WRAP([&] { fill(host, scalar_t(1)); }),
                 AT_EXPAND(AT_FLOATING_TYPES), AT_EXPAND(AT_COMPLEX_TYPES), AT_EXPAND(AT_FLOAT8_TYPES), at::kHalf,
                 at::kBFloat16, at::kComplexHalf);
}

c10::IValue stand_in_number(at::ScalarType dtype) {
  if (at::isFloatingType(dtype)) return c10::Scalar(1.0);
  if (at::isComplexType(dtype)) return c10::Scalar(c10::complex<double>(1.0));
  if (dtype == at::kBool) return c10::Scalar(false);
  return c10::Scalar(0);
}

std::optional<c10::IValue> chosen_elements(std::string_view op, c10::ArrayRef<c10::IValue> arguments) {
  if (op == "aten::equal") return c10::IValue(true);
  if (arguments.empty() || !arguments[0].isTensor()) return std::nullopt;
  const at::Tensor& self = arguments[0].toTensor();
  if (op == "aten::_local_scalar_dense") return stand_in_number(self.scalar_type());
  if (op == "aten::nonzero") return chosen({self.numel(), self.dim()}, at::kLong);
  if (op == "aten::masked_select") {
    const auto sizes = at::infer_size(self.sizes(), arguments[1].toTensor().sizes());
    return chosen({c10::multiply_integers(sizes)}, self.scalar_type());
  }
  return std::nullopt;
}

}  // namespace devsan::emulate
