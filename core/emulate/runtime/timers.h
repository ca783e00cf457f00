#pragma once

namespace devsan::emulate {

// What torch times a device with. An operator is finished when it returns, so the device's times are the host's.

/// Makes torch's profilers time emulated GPUs (`ProfilerActivity.CUDA`, `use_device="cuda"`).
void install_profiler();

/// Gives torch its own back.
void remove_profiler();

/// Gives DistributedDataParallel's reducer a timer for models on emulated GPUs. Without one its second step ends in an
/// internal assertion: its logger asks for times of every model on one device (torch/csrc/distributed/c10d/logger.cpp).
/// CUDA's own, of a build with CUDA, measures with events of the driver. Once a process; it stays.
void register_reducer_timer();

}  // namespace devsan::emulate
