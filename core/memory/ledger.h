#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace devsan::memory {

/// Process-wide counts of what programs hold, by device, over all allocators that ever were. Tests use
/// them to show that everything was given back.
class Ledger {
 public:
  static constexpr int kDevices = 64;

  /// Blocks handed out and not freed. A device outside the table is counted with the last one.
  [[nodiscard]] static std::int64_t live_blocks(int device) noexcept { return at(device).blocks.load(); }

  /// Their bytes, rounded as the allocator rounds.
  [[nodiscard]] static std::int64_t live_bytes(int device) noexcept { return at(device).bytes.load(); }

  /// Over all devices.
  [[nodiscard]] static std::int64_t live_blocks() noexcept {
    std::int64_t sum = 0;
    for (const Entry& entry : entries_) {
      sum += entry.blocks.load();
    }
    return sum;
  }

  static void add(int device, std::int64_t blocks, std::int64_t bytes) noexcept {
    Entry& entry = at(device);
    entry.blocks.fetch_add(blocks, std::memory_order_relaxed);
    entry.bytes.fetch_add(bytes, std::memory_order_relaxed);
  }

 private:
  // A cache line each: threads work on different devices.
  struct alignas(64) Entry {
    std::atomic<std::int64_t> blocks;  // zero: a default-constructed atomic is value-initialised
    std::atomic<std::int64_t> bytes;
  };

  static Entry& at(int device) noexcept {
    const bool known = device >= 0 && device < kDevices;
    return entries_[static_cast<std::size_t>(known ? device : kDevices - 1)];
  }

  static inline std::array<Entry, kDevices> entries_{};
};

}  // namespace devsan::memory
