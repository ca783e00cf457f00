#pragma once

#include <utility>

#include <c10/macros/Macros.h>

#include "emulate/runtime/device.h"

namespace devsan::emulate {

/// What is remembered of the GPUs there are. Pools, autograd and loaders have threads that live on when one emulation ends
/// and another starts: what they remember of the first, which may have had more GPUs, is forgotten, as if the process had
/// begun anew. Not thread-safe: a `thread_local` variable, or one with a lock of its own.
template <typename Value>
class SinceStart {
 public:
  /// @param initial is called for the value that a thread begins with
  template <typename Initial>
  Value& get(const Initial& initial) noexcept {
    if (C10_UNLIKELY(generation_ != device_generation())) set(initial());
    return value_;
  }

  void set(Value value) noexcept {
    value_ = std::move(value);
    generation_ = device_generation();
  }

 private:
  Value value_{};
  unsigned generation_ = 0;  ///< of the GPUs that the value is about; 0: of none
};

}  // namespace devsan::emulate
