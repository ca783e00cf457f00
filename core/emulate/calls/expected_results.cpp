#include "emulate/calls/expected_results.h"

#include <algorithm>

#include "emulate/calls/meta_call.h"

namespace devsan::emulate {
namespace {

void add_sizes(const c10::IValue& result, std::vector<size_t>& sizes) {
  if (result.isTensor()) {
    const at::Tensor& tensor = result.toTensor();
    if (!tensor.defined() || !tensor.unsafeGetTensorImpl()->has_storage()) return;
    sizes.push_back(tensor.storage().nbytes());  // an operand too: the kernel may have resized it
  } else if (result.isTensorList()) {
    for (const c10::IValue& element : result.toListRef()) add_sizes(element, sizes);
  }
}

}  // namespace

bool ResultsOfMeta::take(size_t bytes) {
  if (!is_found_) {
    is_found_ = true;
    find();
  }
  if (!is_known_) return true;
  const auto found = std::find(sizes_.begin(), sizes_.end(), bytes);
  if (found == sizes_.end()) return false;
  sizes_.erase(found);
  return true;
}

void ResultsOfMeta::find() {
  torch::jit::Stack stack = arguments();
  if (stack.size() != op_.schema().arguments().size()) return;
  try {
    if (!call_meta_kernel(op_, stack)) return;
  } catch (const std::exception&) {
    return;  // the CPU kernel says what is wrong
  }
  for (const c10::IValue& result : stack) add_sizes(result, sizes_);
  is_known_ = true;
}

}  // namespace devsan::emulate
