#pragma once

#include "memory/out_of_memory.h"

namespace devsan::emulate {

/// The release of torch that this was built with.
memory::TorchRelease torch_release();

}  // namespace devsan::emulate
