#pragma once

#include <optional>

#include "emulate/calls/host_tensors.h"

namespace devsan::intercept {

/// Looks at one unboxed argument of a call: a tensor that is read...
inline void look_at(emulate::Placement& placement, const at::Tensor& argument) {
  placement.look_at(argument, /*written=*/false);
}
/// ... one that is written...
inline void look_at(emulate::Placement& placement, at::Tensor& argument) {
  placement.look_at(argument, /*written=*/true);
}
/// ... one that may be absent...
inline void look_at(emulate::Placement& placement, const std::optional<at::Tensor>& argument) {
  if (argument.has_value()) placement.look_at(*argument, /*written=*/false);
}
/// ... or what is no tensor.
template <typename Argument>
void look_at(emulate::Placement& /*placement*/, const Argument& /*argument*/) {}

/// Looks where the tensors among a call's unboxed arguments are.
template <typename... Arguments>
emulate::Placement placement_of(Arguments&... arguments) {
  emulate::Placement placement;
  (look_at(placement, arguments), ...);
  return placement;
}

}  // namespace devsan::intercept
