#include "guard/verdict.h"

#include <algorithm>
#include <mutex>

#include <ATen/core/Tensor.h>
#include <ATen/core/op_registration/adaption.h>

#include "guard/kernel_checks.h"
#include "guard/operands.h"

namespace devsan::guard {
namespace {

// Sorted by operator; written by tools/generate_verdicts.py from the installed torch's native_functions.yaml.
constexpr Verdict kTable[] = {
#include "guard/verdict_table.inc"
};

std::mutex g_mutex;
Refusal g_last;
thread_local Refusal t_last;

/// The check that torchgen writes (RegisterDispatchKey.gen_device_check): outputs first, then the others as declared.
void check_generated(const Verdict& verdict, const Operands& operands) {
  std::optional<c10::Device> common;
  for (const bool outputs : {true, false}) {
    for (const OperandRef& operand : operands) {
      if (operand.is_out != outputs) continue;
      c10::impl::check_and_update_common_device(common, *operand.tensor, verdict.method, operand.argument.c_str());
    }
  }
}

void remember(const Verdict& verdict, const Operands& operands, std::string message) {
  Refusal refusal{std::string(verdict.op), std::move(message), {}};
  for (const OperandRef& operand : operands) {
    const at::Tensor& tensor = *operand.tensor;
    refusal.operands.push_back(
        {operand.name, tensor.device().str(), c10::toString(tensor.scalar_type()), tensor.sizes().vec()});
  }
  t_last = refusal;
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_last = std::move(refusal);
}

}  // namespace

Verdict verdict_of(std::string_view name) {
  const auto* end = std::end(kTable);
  const auto* found = std::lower_bound(std::begin(kTable), end, name,
                                       [](const Verdict& row, std::string_view key) { return row.op < key; });
  Verdict verdict = found == end || found->op != name ? Verdict{name, Rule::kUnknown, ""} : *found;
  verdict.always = name == "aten::convolution" || name == "aten::scaled_dot_product_attention";
  return verdict;
}

void judge(const Verdict& verdict, const c10::FunctionSchema& schema, const torch::jit::Stack& arguments) {
  const Call call{schema, arguments, operands_of(schema, arguments)};
  const Operands& operands = call.operands;
  try {
    if (check_kernel(verdict.op, call)) return;
    if (verdict.rule == Rule::kGenerated) {
      check_generated(verdict, operands);
    } else {
      check_tensor_iterator(operands);
    }
  } catch (const c10::Error& error) {
    remember(verdict, operands, error.what_without_backtrace());
    throw;
  }
}

Refusal last_refusal() { return t_last; }

Refusal last_refusal_of_process() {
  const std::lock_guard<std::mutex> lock(g_mutex);
  return g_last;
}

}  // namespace devsan::guard
