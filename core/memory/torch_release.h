#pragma once

#include <compare>

namespace devsan::memory {

/// The torch whose sentences are to be spoken.
struct TorchRelease {
  int major = 2;
  int minor = 13;

  auto operator<=>(const TorchRelease&) const = default;
};

}  // namespace devsan::memory
