#pragma once

#include <atomic>
#include <cstddef>
#include <optional>

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

// NOTE [Tensors without numbers]
// At full size (`devsan run --full-size`) a tensor above a number of bytes has no numbers: its memory is mapped and never
// touched. What is computed from it is unknown, too, whatever its size, and an operator with such an operand runs its Meta
// kernel: sizes, dtypes, aliasing, memory and errors are those of the real call, and nothing is computed. What is small and
// unknown has memory with stand-ins (emulate/calls/full_size/stand_ins), and operators with only such operands compute with
// those, so that what a program asks of them agrees with itself.
//
// A GPU's tensor is known by its storage, so that all views of it are. A CPU tensor is known by a dispatch key that torch
// reserves for tensors without data, DispatchKey::Fake, at which every operator on it arrives. The aliases with which an
// operator of an emulated GPU calls CPU kernels are CPU tensors, and so there is one place where both are carried out:
// emulate/calls/full_size/unknown_call. torch.tensor and torch.from_numpy exclude that key; what they make is always known.

inline constexpr c10::DispatchKey kUnknownKey = c10::DispatchKey::Fake;

/// The line between tensors with numbers and those without, for the process.
class FullSize {
 public:
  /// @param real_below bytes: a larger tensor has no numbers, but of one element, whatever they are
  static void start(std::size_t real_below) noexcept;
  /// New tensors have numbers again. Those that are left stay unknown.
  static void stop() noexcept;

  /// Whether a tensor of `bytes` that is made now has no numbers. Integers and booleans, by which programs go on (token
  /// numbers, masks, positions), have them up to 256 times as many bytes; bytes up to 16 times.
  static bool leaves_out(std::size_t bytes, at::ScalarType dtype) noexcept;
  static std::size_t real_below() noexcept { return real_below_.load(std::memory_order_relaxed); }

  static bool is_on() noexcept { return on_.load(std::memory_order_relaxed); }

  /// Whether there may be unknown tensors: one was made in this process.
  static bool was_on() noexcept { return was_on_.load(std::memory_order_relaxed); }

 private:
  static std::atomic<bool> on_;
  static std::atomic<bool> was_on_;
  static std::atomic<std::size_t> real_below_;
};

/// Whether the numbers of a tensor were never computed. For a CPU tensor or one on an emulated GPU.
bool is_unknown(const at::Tensor& tensor) noexcept;

/// The same for a CPU tensor, an alias among them.
inline bool is_unknown_on_host(const at::Tensor& tensor) noexcept {
  return tensor.defined() && tensor.unsafeGetTensorImpl()->key_set().has(kUnknownKey);
}

/// Whether an unknown CPU tensor has no stand-ins, or is so large (a small one that was expanded) that computing with them
/// would take time and room for nothing.
bool is_untouched(const at::Tensor& tensor) noexcept;

/// From now on the numbers of a CPU tensor, and of what shares its memory on an emulated GPU, are unknown.
void set_unknown(const at::Tensor& host);

/// A CPU tensor without numbers; its memory is accounted as that of any other.
/// Its memory is touched only if it is small, for its stand-ins.
at::Tensor make_unknown(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype);
at::Tensor make_unknown(at::IntArrayRef sizes, at::ScalarType dtype, std::optional<at::MemoryFormat> memory_format);

/// Gives the memory of an unknown CPU tensor another size, as `resize_` and an out= operand do.
void resize_unknown(const at::Tensor& host, std::size_t bytes);

}  // namespace devsan::emulate
