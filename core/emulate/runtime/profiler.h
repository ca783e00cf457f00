#pragma once

namespace devsan::emulate {

/// Makes torch's profilers time emulated GPUs (`ProfilerActivity.CUDA`, `use_device="cuda"`). An operator is finished
/// when it returns, so the device's times are the host's.
void install_profiler();

/// Gives torch its own back.
void remove_profiler();

}  // namespace devsan::emulate
