#pragma once

namespace devsan::emulate {

/// Whether what an operator computes on this thread now is needed for a moment: in a backward pass, whose thread the
/// autograd engine marks, and in a step of an optimizer. It does not matter whether anybody follows the program.
[[nodiscard]] bool computes_for_a_moment() noexcept;

/// Has torch say when a step of an optimizer begins and ends. Once a process; it stays: torch calls nothing but what it
/// would call for a profiler, once a step.
void watch_optimizer_steps();

}  // namespace devsan::emulate
