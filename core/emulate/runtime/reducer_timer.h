#pragma once

namespace devsan::emulate {

/// Gives DistributedDataParallel's reducer a timer for models on emulated GPUs. Without one its second step ends in an
/// internal assertion: its logger asks for times of every model on one device (torch/csrc/distributed/c10d/logger.cpp).
/// CUDA's own, of a build with CUDA, measures with events of the driver. Once a process; it stays.
void register_reducer_timer();

}  // namespace devsan::emulate
