#pragma once

#include <string>

#include <torch/library.h>

namespace devsan::intercept {

/// Sizes, strides and offsets of a nested tensor's parts are CPU tensors wherever its buffer is.
void register_nested_sizes(torch::Library& library);

/// Whether `register_nested_sizes` has a kernel for the operator.
bool is_size_of_nested(const std::string& name);

}  // namespace devsan::intercept
