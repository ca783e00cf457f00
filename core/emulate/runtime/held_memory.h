#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/held_memory.h"

namespace devsan::emulate {

/// A live tensor and what it is to the program; kUnknown for a variable.
struct NamedTensor {
  at::Tensor tensor;
  model::HolderKind kind = model::HolderKind::kUnknown;
  std::string name;
};

/// Who held the memory of the emulated GPU that raised torch.OutOfMemoryError with `message`, at that moment. What `named`
/// says is looked at now: what was freed since is there under what computed or placed it.
/// @return none where no emulated GPU raised it, or has raised a later one
[[nodiscard]] std::optional<model::HeldMemory> held_memory(std::string_view message,
                                                           const std::vector<NamedTensor>& named);

}  // namespace devsan::emulate
