#pragma once

namespace devsan::emulate {

/// Gives the autograd engine a worker thread for every emulated GPU, also when it already ran a backward pass and so
/// settled on fewer. No backward pass may be running.
void ensure_autograd_threads();

/// Waits until the engine's workers have let go of the last backward pass. To be called, without the GIL, before Python
/// or the emulation ends. Does nothing when no backward pass ran, and in a forked child, which has no workers.
void settle_autograd_threads();

}  // namespace devsan::emulate
