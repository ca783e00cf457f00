#pragma once

namespace devsan::emulate {

/// Makes torch's accelerator hooks for CUDA answer for the emulated GPUs. See NOTE [Taking over the hooks].
void install_hooks();
void remove_hooks();

}  // namespace devsan::emulate
