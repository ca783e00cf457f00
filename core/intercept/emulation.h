#pragma once

#include <vector>

#include "model/device_spec.h"

namespace devsan::intercept {

/// Makes this process see emulated GPUs, from the dispatcher down. Raises, and leaves nothing behind, when another
/// backend has the dispatch key that emulated tensors need, or when the installed torch does not answer as expected.
void start_emulation(const std::vector<model::DeviceSpec>& devices);

/// Undoes `start_emulation`. Emulated tensors that are left stay valid.
void stop_emulation();

}  // namespace devsan::intercept
