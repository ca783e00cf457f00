#pragma once

#include <string>
#include <vector>

#include "memory/process.h"

namespace devsan::emulate {

/// The processes that hold memory of a GPU of the machine, visible to this one or not, as NVML lists them. None where
/// memory is not shared: see share_memory in emulate/runtime/device.h.
[[nodiscard]] std::vector<memory::ProcessUse> gpu_processes(const std::string& uuid);

}  // namespace devsan::emulate
