#include "emulate/calls/named_index.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/core/WrapDimMinimal.h>

namespace devsan::emulate {
namespace {

const at::Tensor* tensor(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments,
                         std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const c10::IValue* found = argument_of(schema, arguments, name);
    if (found != nullptr && found->isTensor() && found->toTensor().defined()) return &found->toTensor();
  }
  return nullptr;
}

/// Reads in place, whatever the strides: nothing is allocated where an operator's results are made.
template <typename Number>
std::optional<std::int64_t> first_beyond(const at::Tensor& index, std::int64_t size) {
  const auto* data = static_cast<const Number*>(index.const_data_ptr());
  for (std::int64_t place = 0; place < index.numel(); ++place) {
    std::int64_t offset = 0;
    std::int64_t rest = place;
    for (std::int64_t dim = index.dim() - 1; dim >= 0; --dim) {
      offset += rest % index.size(dim) * index.stride(dim);
      rest /= index.size(dim);
    }
    if (data[offset] < 0 || data[offset] >= size) return data[offset];
  }
  return std::nullopt;
}

}  // namespace

const c10::IValue* argument_of(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments,
                               const char* name) {
  const std::optional<int> index = schema.argumentIndexWithName(name);
  const std::size_t count = schema.arguments().size();
  if (!index.has_value() || arguments.size() < count) return nullptr;
  return &torch::jit::peek(arguments, static_cast<std::size_t>(*index), count);
}

std::string index_out_of_range(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments) {
  const at::Tensor* table = tensor(schema, arguments, {"weight", "self"});
  const at::Tensor* index = tensor(schema, arguments, {"indices", "index"});
  if (table == nullptr || index == nullptr || table->dim() == 0) return "";
  const c10::IValue* given = argument_of(schema, arguments, "dim");
  const std::int64_t dim = given != nullptr && given->isInt() ? c10::maybe_wrap_dim(given->toInt(), table->dim()) : 0;
  std::optional<std::int64_t> found;
  if (index->scalar_type() == at::kLong) found = first_beyond<std::int64_t>(*index, table->size(dim));
  if (index->scalar_type() == at::kInt) found = first_beyond<std::int32_t>(*index, table->size(dim));
  if (!found.has_value()) return "";
  return "index " + std::to_string(*found) + " is out of bounds for dimension " + std::to_string(dim) + " with size " +
         std::to_string(table->size(dim));
}

}  // namespace devsan::emulate
