#pragma once

namespace devsan::intercept {

/// Puts DevSan's kernels on the dispatch key of emulated tensors. Done once a process; they stay, because emulated
/// tensors may outlive the emulation.
void register_operators();

/// Puts the factories on the CUDA key, so that `torch.empty(..., device="cuda")` makes an emulated tensor. In a CUDA build
/// of torch they stand before its own kernels, which are back after `unregister_factories`.
void register_factories();
void unregister_factories();

}  // namespace devsan::intercept
