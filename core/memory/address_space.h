#pragma once

#include <cstdint>
#include <map>

#include "memory/block.h"

namespace devsan::memory {

/// The addresses of one device. Ranges that were given back are used again, lowest first, as the
/// CUDA driver does: a program that frees and allocates sees the same addresses.
class AddressSpace {
 public:
  explicit AddressSpace(int device);

  /// The start of an unused range of `bytes`, which is rounded up to kRoundLarge.
  [[nodiscard]] Address reserve(std::uint64_t bytes);

  /// Gives back a range with the size it was reserved with.
  void release(Address start, std::uint64_t bytes);

 private:
  std::map<Address, std::uint64_t> holes_;  ///< start and size; neighbors are merged
  Address end_;                             ///< nothing was reserved from here on
};

}  // namespace devsan::memory
