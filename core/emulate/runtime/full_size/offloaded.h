#pragma once

#include <cstdint>

namespace devsan::emulate {

/// The host memory that CPU tensors without numbers would take: those of a model or an optimizer that is offloaded.
class Offloaded {
 public:
  static void take(std::int64_t bytes) noexcept;
  static void give(std::int64_t bytes) noexcept;
  /// The most that there was at once in this process, in bytes.
  static std::int64_t peak() noexcept;
};

}  // namespace devsan::emulate
