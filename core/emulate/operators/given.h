#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

/// Whether an optional argument holds a tensor: what Python calls None can also arrive as an undefined one.
inline bool is_given(const std::optional<at::Tensor>& tensor) { return tensor.has_value() && tensor->defined(); }

}  // namespace devsan::emulate
