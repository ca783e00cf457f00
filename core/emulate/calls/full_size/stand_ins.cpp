#include "emulate/calls/full_size/stand_ins.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <span>

#include <ATen/Dispatch_v2.h>
#include <ATen/ExpandUtils.h>

#include "emulate/runtime/full_size/unknown.h"

namespace devsan::emulate {
namespace {

/// An operator that chooses among numbers, and where it says among which.
struct Chooser {
  std::string_view op;
  bool is_of_last = false;  ///< without a dimension, among the last one and not among all
  bool counts = false;      ///< its first integer is how many it chooses
};

constexpr Chooser kChoosers[] = {{"aten::argmax"},
                                 {"aten::argmin"},
                                 {"aten::max"},
                                 {"aten::min"},
                                 {"aten::sort", true},
                                 {"aten::topk", true, true},
                                 {"aten::multinomial", true, true}};

/// An operator asks whether something is so for all elements.
bool asks_for_all(std::string_view op) { return op == "aten::all" || op.starts_with("aten::all."); }

template <typename Number>
void fill(const at::Tensor& host, Number number) {
  auto* first = static_cast<Number*>(host.unsafeGetTensorImpl()->unsafe_storage().mutable_data());
  std::fill_n(first, host.storage().nbytes() / sizeof(Number), number);
}

/// A program steps only where this says that nothing is infinite.
bool looks_for_infinity(std::string_view op) { return op == "aten::_amp_foreach_non_finite_check_and_unscale_"; }

/// What lies between the first element of a tensor and its last one, gaps of a view among it.
template <typename Number>
std::span<Number> elements_of(const at::Tensor& host) {
  if (host.numel() == 0) return {};
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < host.dim(); ++i) last += (host.size(i) - 1) * host.stride(i);
  return {static_cast<Number*>(host.unsafeGetTensorImpl()->mutable_data()), static_cast<std::size_t>(last) + 1};
}

/// Calls `use` with the elements of a floating-point tensor whose type has infinities.
template <typename Use>
void with_floats(const at::Tensor& host, const Use& use) {
  if (host.layout() != at::kStrided || !host.is_cpu()) return;
  switch (host.scalar_type()) {
    case at::kFloat:
      return use(elements_of<float>(host));
    case at::kDouble:
      return use(elements_of<double>(host));
    case at::kHalf:
      return use(elements_of<at::Half>(host));
    case at::kBFloat16:
      return use(elements_of<at::BFloat16>(host));
    default:
      return;
  }
}

constexpr auto kIsFinite = [](auto number) { return std::isfinite(static_cast<double>(number)); };

at::Tensor chosen(std::vector<std::int64_t> sizes, at::ScalarType dtype) {
  return make_unknown(sizes, dtype, at::MemoryFormat::Contiguous);
}

}  // namespace

void write_stand_ins(const at::Tensor& host, std::string_view op, std::int64_t index, std::optional<bool> answer) {
  if (host.storage().nbytes() == 0) return;
  std::memset(host.unsafeGetTensorImpl()->unsafe_storage().mutable_data(), 0, host.storage().nbytes());
  if (host.scalar_type() == at::kBool) {
    fill(host, answer.value_or(asks_for_all(op)));
    return;
  }
  if (host.scalar_type() == at::kLong && index != 0) fill(host, index);
  if (!at::isFloatingType(host.scalar_type()) && !at::isComplexType(host.scalar_type())) return;
  AT_DISPATCH_V2(host.scalar_type(), "write_stand_ins", AT_WRAP([&] { fill(host, scalar_t(1)); }),
                 AT_EXPAND(AT_FLOATING_TYPES), AT_EXPAND(AT_COMPLEX_TYPES), AT_EXPAND(AT_FLOAT8_TYPES), at::kHalf,
                 at::kBFloat16, at::kComplexHalf);
}

std::int64_t stand_in_index(std::string_view op, c10::ArrayRef<c10::IValue> arguments) {
  const auto* chooser = std::ranges::find(kChoosers, op, &Chooser::op);
  if (chooser == std::end(kChoosers) || arguments.empty() || !arguments[0].isTensor()) return 0;
  const at::Tensor& self = arguments[0].toTensor();
  if (!at::isFloatingType(self.scalar_type())) return 0;  // of integers, the result may be one of them
  std::int64_t among = self.numel();
  if (self.dim() > 0 && chooser->is_of_last) among = self.size(-1);
  for (const c10::IValue& argument : arguments.slice(1)) {
    // The first integer behind them is the dimension, but for topk, whose first one is the number of results.
    if (!argument.isInt() || (chooser->counts && &argument == &arguments[1])) continue;
    const std::int64_t dim = argument.toInt();
    if (-self.dim() <= dim && dim < self.dim()) among = self.size(dim);
    break;
  }
  // No simple fraction: among the tokens of several beams in a row, a half or a third is the first token of one.
  return static_cast<std::int64_t>(static_cast<double>(among) * 0.382);
}

void stand_in_for_written(const at::Tensor& host, std::string_view op) {
  if (is_untouched(host) || host.layout() != at::kStrided || host.numel() == 0) return;
  if (host.scalar_type() == at::kBool) {
    std::ranges::fill(elements_of<bool>(host), asks_for_all(op));
    return;
  }
  const bool is_one = at::isFloatingType(host.scalar_type()) && !looks_for_infinity(op);
  AT_DISPATCH_V2(host.scalar_type(), "stand_in_for_written",
                 AT_WRAP([&] { std::ranges::fill(elements_of<scalar_t>(host), scalar_t(is_one ? 1 : 0)); }),
                 AT_EXPAND(AT_ALL_TYPES_AND_COMPLEX), AT_EXPAND(AT_FLOAT8_TYPES), at::kHalf, at::kBFloat16,
                 at::kComplexHalf);
}

bool is_finite(const at::Tensor& host) {
  bool finite = true;
  if (!is_untouched(host)) {
    with_floats(host, [&](auto elements) { finite = std::ranges::all_of(elements, kIsFinite); });
  }
  return finite;
}

void make_finite(const at::Tensor& host) {
  if (is_untouched(host)) return;
  with_floats(host, [](auto elements) {
    std::ranges::replace_if(elements, std::not_fn(kIsFinite), typename decltype(elements)::value_type(1));
  });
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
