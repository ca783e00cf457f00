#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace devsan::memory {

/// What a program is doing when it takes memory.
///
/// NOTE [Memory by phase]
/// Names of tensors are known where somebody looks at the models, which takes time; the phase in which memory was taken is
/// known at once, and costs a load and an addition. It says nearly the same: what was taken while loading is weights, in a
/// forward pass activations, in a backward pass gradients, in a step the optimizer's state. The phase is that of the
/// process, for the threads of a backward pass are torch's own. It is followed while a run file is written, and for its
/// figures alone: what a report says of a result does not depend on it (momentary.h in core/emulate/runtime).
enum class Phase : std::uint8_t { kNone, kLoad, kForward, kBackward, kOptimizer };

inline constexpr std::size_t kPhases = 5;

/// Bytes that are held, by the phase that took them.
using ByPhase = std::array<std::int64_t, kPhases>;

inline std::atomic<Phase> current_phase_{Phase::kNone};

/// What is taken from now on, by any thread, is taken in `phase`.
inline void enter_phase(Phase phase) noexcept { current_phase_.store(phase, std::memory_order_relaxed); }

[[nodiscard]] inline Phase current_phase() noexcept { return current_phase_.load(std::memory_order_relaxed); }

}  // namespace devsan::memory
