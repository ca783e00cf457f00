#include "guard/verdict.h"

#include <algorithm>
#include <mutex>

#include <ATen/core/Tensor.h>
#include <ATen/core/op_registration/adaption.h>

#include "guard/kernel_checks.h"
#include "guard/meta_functions.h"
#include "guard/operands.h"

namespace devsan::guard {
namespace {

// Sorted by operator; written by tools/generate_verdicts.py from the installed torch's native_functions.yaml.
constexpr Verdict kTable[] = {
#include "guard/verdict_table.inc"
};

constexpr Verdict kSparseTable[] = {
#include "guard/verdict_table_sparsecuda.inc"
};
constexpr Verdict kSparseCompressedTable[] = {
#include "guard/verdict_table_sparsecsrcuda.inc"
};
constexpr Verdict kNestedTable[] = {
#include "guard/verdict_table_nestedtensorcuda.inc"
};

struct VerdictTable {
  const Verdict* begin;
  const Verdict* end;
};

VerdictTable table_of(Layout layout) {
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
Refusal g_last;
thread_local Refusal t_last;
OriginSource g_origin_source = nullptr;

/// The check that torchgen writes (RegisterDispatchKey.gen_device_check): outputs first, then the positional arguments as
/// declared. Keyword-only ones are left out.
void check_generated(const Verdict& verdict, const Operands& operands) {
  std::optional<c10::Device> common;
  for (const bool outputs : {true, false}) {
    for (const OperandRef& operand : operands) {
      if (operand.is_out != outputs || (operand.is_keyword && !operand.is_out)) continue;
      c10::impl::check_and_update_common_device(common, *operand.tensor, verdict.method, operand.argument.data());
    }
  }
}

/// The checks that stand in kernels' own sources.
bool check_own(const Verdict& verdict, const Call& call) {
  switch (verdict.layout) {
    case Layout::kStrided:
      return check_kernel(verdict.op, call);
    case Layout::kSparse:
      return check_sparse(verdict.op, call);
    case Layout::kSparseCompressed:
      return check_sparse_compressed(verdict.op, call);
    default:
      return false;
  }
}

std::uintptr_t storage_of(const at::Tensor& tensor) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  return impl->has_storage() ? reinterpret_cast<std::uintptr_t>(impl->storage().unsafeGetStorageImpl()) : 0;
}

void remember(const Verdict& verdict, const Operands& operands, std::string message) {
  Refusal refusal{std::string(verdict.op), std::move(message), {}};
  for (const OperandRef& operand : operands) {
    const at::Tensor& tensor = *operand.tensor;
    // A nested tensor has no sizes.
    std::vector<std::int64_t> shape;
    if (!tensor.is_nested()) shape = tensor.sizes().vec();
    refusal.operands.push_back({operand.name(), tensor.device().str(), c10::toString(tensor.scalar_type()),
                                std::move(shape), storage_of(tensor),
                                g_origin_source == nullptr ? record::Origin{} : g_origin_source(tensor)});
  }
  t_last = refusal;
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_last = std::move(refusal);
}

}  // namespace

Verdict verdict_of(std::string_view name, Layout layout) {
  const VerdictTable table = table_of(layout);
  const auto* found = std::lower_bound(table.begin, table.end, name,
                                       [](const Verdict& row, std::string_view key) { return row.op < key; });
  Verdict verdict = found == table.end || found->op != name ? Verdict{name, Rule::kUnknown, ""} : *found;
  verdict.layout = layout;
  if (layout != Layout::kStrided) return verdict;
  if (has_kernel_check(name)) verdict.host_scalars = free_host_scalars(name);
  verdict.always = name == "aten::convolution" || name == "aten::scaled_dot_product_attention";
  return verdict;
}

void check_devices(const Verdict& verdict, const c10::FunctionSchema& schema, const torch::jit::Stack& arguments) {
  const Call call{schema, arguments, operands_of(schema, arguments)};
  const Operands& operands = call.operands;
  try {
    const bool strided = verdict.layout == Layout::kStrided;
    if (check_own(verdict, call)) return;
    if (verdict.rule == Rule::kGenerated) {
      check_generated(verdict, operands);
      check_further(verdict.op, call);
    } else if (!strided || !ask_meta_function(verdict.op, schema, arguments)) {
      if (verdict.host_scalars > 0) check_sizes(operands);
      check_tensor_iterator(operands);
    }
  } catch (const c10::Error& error) {
    remember(verdict, operands, error.what_without_backtrace());
    throw;
  }
}

void set_origin_source(OriginSource source) { g_origin_source = source; }

Refusal last_refusal() { return t_last; }

void forget_last_refusal() {
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_last = {};
}

Refusal last_refusal_of_process() {
  const std::lock_guard<std::mutex> lock(g_mutex);
  return g_last;
}

}  // namespace devsan::guard
