#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <c10/macros/Macros.h>

namespace devsan::emulate {

// NOTE [The machine's memory]
// The bytes of emulated GPUs lie in the machine's memory, and a process that takes more than there is, is killed by the
// kernel without a word. Where the machine stands takes a few files to read, so it is looked at only when as much was taken
// as a quarter of what was left at the look before: that costs an atomic subtraction for each large tensor. What is freed
// meanwhile is not counted, which only has it look again sooner.
// What the program takes for CPU tensors counts as well: a model is often made there, and only then moved. That is told and
// never refused, since a program may ask for more than it writes.

/// Bytes that may be taken before the machine is looked at again.
extern std::atomic<std::int64_t> g_until_next_look;

/// Who takes memory of the machine.
enum class Taker : std::uint8_t { kGpu, kProgram };

/// Looks at the machine's memory. Tells once, on stderr, that four fifths of it are taken, where this process has a part in
/// that. Raises RuntimeError where `bytes` of an emulated GPU are not left.
void look_at_host(std::size_t bytes, Taker taker);

/// Called before `bytes` are taken from the machine.
inline void before_taking_from_host(std::size_t bytes, Taker taker) {
  const auto taken = static_cast<std::int64_t>(bytes);
  if (C10_UNLIKELY(g_until_next_look.fetch_sub(taken, std::memory_order_relaxed) < taken)) look_at_host(bytes, taker);
}

}  // namespace devsan::emulate
