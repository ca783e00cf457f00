#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "memory/scope.h"
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

/// The names of parts of the program by the numbers under which they run (memory/scope.h).
using ScopeNames = std::unordered_map<memory::Scope, std::string>;

/// Who held the memory of each GPU that was used while peaks were watched, at the moment when the most was held. A block
/// keeps the names that it was once seen under: what `named` says counts for what is the same allocation still, so that it
/// is worth asking while the tensors of that moment are alive. What has no name is told under the part that computed it.
[[nodiscard]] std::vector<model::PeakMemory> peaks(const std::vector<NamedTensor>& named, const ScopeNames& scopes);

/// Whether a GPU has held more since peaks() was asked the last time.
[[nodiscard]] bool has_new_peak();

}  // namespace devsan::emulate
