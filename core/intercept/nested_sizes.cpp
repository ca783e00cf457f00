#include "intercept/nested_sizes.h"

#include <ATen/ops/_nested_tensor_size_native.h>
#include <ATen/ops/_nested_tensor_storage_offsets_native.h>
#include <ATen/ops/_nested_tensor_strides_native.h>

namespace devsan::intercept {

void register_nested_sizes(torch::Library& library) {
  library.impl("_nested_tensor_size", TORCH_FN(at::native::_nested_tensor_size));
  library.impl("_nested_tensor_strides", TORCH_FN(at::native::_nested_tensor_strides));
  library.impl("_nested_tensor_storage_offsets", TORCH_FN(at::native::_nested_tensor_storage_offsets));
}

bool is_size_of_nested(const std::string& name) {
  return name == "aten::_nested_tensor_size" || name == "aten::_nested_tensor_strides" ||
         name == "aten::_nested_tensor_storage_offsets";
}

}  // namespace devsan::intercept
