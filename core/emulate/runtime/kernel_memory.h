#pragma once

#include <cstddef>
#include <initializer_list>
#include <vector>

#include <ATen/core/Tensor.h>

namespace devsan::memory {
struct Block;
}

namespace devsan::emulate {

struct EmulatedDevice;

// NOTE [Memory of a kernel written by hand]
// A kernel of CUDA's that is carried out by several operators (attention with dropout: products, softmax, a mask) takes the
// memory of one kernel. While a KernelMemory lives, what its thread makes on emulated GPUs is pending; what the kernel
// returns is charged when it has returned. What is known before (its results, its workspaces) is taken in CUDA's order
// before anything is computed, so that running out of memory is noticed then.

/// The memory that one kernel of CUDA's takes.
class KernelMemory {
 public:
  explicit KernelMemory(c10::DeviceIndex index) noexcept;
  ~KernelMemory();
  KernelMemory(const KernelMemory&) = delete;
  KernelMemory& operator=(const KernelMemory&) = delete;

  /// That of the kernel that the calling thread is in, or null.
  static KernelMemory* current() noexcept;

  /// Takes `bytes` for something that the kernel will return.
  /// Raises torch.OutOfMemoryError.
  void result(std::size_t bytes);
  /// Takes `bytes` that the kernel holds while it runs.
  /// Raises torch.OutOfMemoryError.
  void scratch(std::size_t bytes);
  /// Takes all of `sizes` together, and gives them back: what is freed before more is taken.
  /// Raises torch.OutOfMemoryError.
  void for_a_moment(std::initializer_list<std::size_t> sizes);

  /// Ends the kernel: from here on the thread's memory is charged as before it. Called before `keep`.
  void close() noexcept;
  /// Charges what the kernel returned, and what it gave an operand that it wrote.
  /// Raises torch.OutOfMemoryError.
  void keep(const at::Tensor& tensor);

 private:
  [[nodiscard]] memory::Block* take(std::size_t bytes);

  EmulatedDevice* device_;
  KernelMemory* previous_;
  std::vector<memory::Block*> results_;
  std::vector<memory::Block*> scratch_;
};

}  // namespace devsan::emulate
