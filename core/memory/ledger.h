#pragma once

#include <cstdint>

namespace devsan::memory {

class CachingAllocator;

/// What programs hold, by device, over all allocators of the process: added up when asked, so that taking memory costs
/// nothing for it. Tests use it to show that everything was given back.
class Ledger {
 public:
  /// Blocks handed out and not freed.
  [[nodiscard]] static std::int64_t live_blocks(int device);

  /// Their bytes, rounded as the allocator rounds.
  [[nodiscard]] static std::int64_t live_bytes(int device);

  /// Blocks over all devices.
  [[nodiscard]] static std::int64_t live_blocks();

 private:
  friend class CachingAllocator;
  static void enter(const CachingAllocator* allocator);
  static void leave(const CachingAllocator* allocator);
};

}  // namespace devsan::memory
