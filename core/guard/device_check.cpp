#include "guard/device_check.h"

#include <algorithm>
#include <array>
#include <mutex>

#include <ATen/core/Tensor.h>
#include <ATen/core/op_registration/adaption.h>

#include "guard/kernel_checks.h"
#include "guard/meta_functions.h"
#include "guard/operands.h"

namespace devsan::guard {
namespace {

// Sorted by operator; written by tools/generate_device_checks.py from the installed torch's native_functions.yaml.
constexpr OperatorCheck kTable[] = {
#include "guard/device_check_table.inc"
};

constexpr OperatorCheck kSparseTable[] = {
#include "guard/device_check_table_sparsecuda.inc"
};
constexpr OperatorCheck kSparseCompressedTable[] = {
#include "guard/device_check_table_sparsecsrcuda.inc"
};
constexpr OperatorCheck kNestedTable[] = {
#include "guard/device_check_table_nestedtensorcuda.inc"
};

struct CheckTable {
  const OperatorCheck* begin;
  const OperatorCheck* end;
};

CheckTable table_of(Layout layout) {
  switch (layout) {
    case Layout::kSparse:
      return {std::begin(kSparseTable), std::end(kSparseTable)};
    case Layout::kSparseCompressed:
      return {std::begin(kSparseCompressedTable), std::end(kSparseCompressedTable)};
    case Layout::kNested:
      return {std::begin(kNestedTable), std::end(kNestedTable)};
    default:
      return {std::begin(kTable), std::end(kTable)};
  }
}

std::mutex g_mutex;
std::array<Refusal, kRecent> g_recent;  // a ring: the refusal `number` is at `number` modulo its size
std::uint64_t g_refusals = 0;
RefusalListener g_listener;
thread_local Refusal t_last;
OriginSource g_origin_source = nullptr;

/// The check that torchgen writes (RegisterDispatchKey.gen_device_check): outputs first, then the positional arguments as
/// declared. Keyword-only ones are left out.
void check_generated(const OperatorCheck& check, const Operands& operands) {
  std::optional<c10::Device> common;
  for (const bool outputs : {true, false}) {
    for (const OperandRef& operand : operands) {
      if (operand.is_out != outputs || (operand.is_keyword && !operand.is_out)) continue;
      c10::impl::check_and_update_common_device(common, *operand.tensor, check.method, operand.argument.data());
    }
  }
}

/// The checks that stand in kernels' own sources.
bool check_own(const OperatorCheck& check, const Call& call) {
  switch (check.layout) {
    case Layout::kStrided:
      return check_kernel(check.op, call);
    case Layout::kSparse:
      return check_sparse(check.op, call);
    case Layout::kSparseCompressed:
      return check_sparse_compressed(check.op, call);
    default:
      return false;
  }
}

std::uintptr_t storage_of(const at::Tensor& tensor) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  return impl->has_storage() ? reinterpret_cast<std::uintptr_t>(impl->storage().unsafeGetStorageImpl()) : 0;
}

void remember(const OperatorCheck& check, const Operands& operands, std::string message) {
  Refusal refusal{std::string(check.op), std::move(message), {}};
  for (const OperandRef& operand : operands) {
    const at::Tensor& tensor = *operand.tensor;
    // A nested tensor has no sizes.
    std::vector<std::int64_t> shape;
    if (!tensor.is_nested()) shape = tensor.sizes().vec();
    refusal.operands.push_back({operand.name(), tensor.device().str(), c10::toString(tensor.scalar_type()),
                                std::move(shape), storage_of(tensor),
                                g_origin_source == nullptr ? record::Origin{} : g_origin_source(tensor)});
  }
  RefusalListener listener;
  {
    const std::lock_guard<std::mutex> lock(g_mutex);
    refusal.number = ++g_refusals;
    t_last = refusal;
    g_recent[refusal.number % kRecent] = std::move(refusal);
    listener = g_listener;
  }
  if (listener) listener();  // without the lock: it takes Python's
}

}  // namespace

OperatorCheck check_of(std::string_view name, Layout layout) {
  const CheckTable table = table_of(layout);
  const auto* found = std::lower_bound(table.begin, table.end, name,
                                       [](const OperatorCheck& row, std::string_view key) { return row.op < key; });
  OperatorCheck check = found == table.end || found->op != name ? OperatorCheck{name, Rule::kUnknown, ""} : *found;
  check.layout = layout;
  if (layout != Layout::kStrided) return check;
  if (has_kernel_check(name)) check.host_scalars = free_host_scalars(name);
  if (has_further_check(name)) check.host_scalars = 0;
  check.always = name == "aten::convolution" || name == "aten::scaled_dot_product_attention";
  return check;
}

void check_devices(const OperatorCheck& check, const c10::FunctionSchema& schema, const torch::jit::Stack& arguments) {
  const Call call{schema, arguments, operands_of(schema, arguments)};
  const Operands& operands = call.operands;
  try {
    const bool strided = check.layout == Layout::kStrided;
    if (check_own(check, call)) return;
    if (check.rule == Rule::kGenerated) {
      check_generated(check, operands);
    } else if (!strided || !ask_meta_function(check.op, schema, arguments)) {
      if (check.host_scalars > 0) check_sizes(operands);
      check_tensor_iterator(operands);
    }
    if (strided) check_further(check.op, call);
  } catch (const c10::Error& error) {
    remember(check, operands, error.what_without_backtrace());
    throw;
  }
}

void remember_refusal(const OperatorCheck& check, const c10::FunctionSchema& schema, const torch::jit::Stack& arguments,
                      std::string message) {
  remember(check, operands_of(schema, arguments), std::move(message));
}

void set_origin_source(OriginSource source) { g_origin_source = source; }

void set_refusal_listener(RefusalListener listener) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_listener = std::move(listener);
}

Refusal last_refusal() { return t_last; }

void forget_last_refusal() {
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_recent.fill({});
}

Refusal last_refusal_of_process() {
  const std::lock_guard<std::mutex> lock(g_mutex);
  return g_recent[g_refusals % kRecent];
}

Refusal refusal_in(std::string_view text) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  for (std::uint64_t back = 0; back < kRecent; ++back) {
    const Refusal& each = g_recent[(g_refusals - back) % kRecent];
    if (!each.message.empty() && text.find(each.message) != std::string_view::npos) return each;
  }
  return {};
}

}  // namespace devsan::guard
