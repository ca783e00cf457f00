#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "memory/block.h"
#include "memory/process.h"
#include "memory/shared_budget.h"

namespace devsan::memory {

/// The memory of one emulated device, in bytes.
struct DeviceBudget {
  std::uint64_t total_bytes = 0;    ///< as cudaMemGetInfo and get_device_properties give it
  std::uint64_t busy_bytes = 0;     ///< held by other processes
  std::uint64_t context_bytes = 0;  ///< the CUDA context, taken when the device is first used
  /// The other process, as the out-of-memory sentence names it. In a container NVML often says 1.
  std::uint32_t busy_process_id = 1;
  std::shared_ptr<SharedTable> shared = nullptr;  ///< with the processes of the job; null: with none
  std::uint64_t gpu = 0;                          ///< which GPU of that table this is; never 0 where there is one
};

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

/// The simulated driver of one device: cudaMalloc, cudaFree and cudaMemGetInfo over a budget, without
/// any bytes behind it. Not thread-safe: the allocator's lock covers it.
class DeviceMemory {
 public:
  DeviceMemory(int device, DeviceBudget budget);

  /// Takes the context's share, as the first use of a device does. Later calls do nothing.
  void open() noexcept {
    if (!open_) {
      make_context();
    }
  }
  [[nodiscard]] bool is_open() const noexcept { return open_; }

  /// cudaMalloc. Memory is taken in pages of kRoundLarge.
  /// @returns 0 when fewer bytes are free
  [[nodiscard]] Address allocate(std::uint64_t bytes);

  /// cudaFree of a range from allocate.
  void free(Address start, std::uint64_t bytes);

  /// Memory without addresses (cuMemCreate). @returns false when fewer bytes are free
  [[nodiscard]] bool take(std::uint64_t bytes) noexcept;
  void give_back(std::uint64_t bytes) noexcept;

  /// Addresses without memory (cuMemAddressReserve).
  [[nodiscard]] AddressSpace& addresses() noexcept { return addresses_; }

  [[nodiscard]] const DeviceBudget& budget() const noexcept { return budget_; }
  [[nodiscard]] std::uint64_t total_bytes() const noexcept { return budget_.total_bytes; }

  /// What cudaMemGetInfo calls free: total - busy - context - held - what other processes of the job hold, never below 0.
  [[nodiscard]] std::uint64_t free_bytes() const noexcept;

  /// What NVML reports for this process: context and everything held.
  [[nodiscard]] std::uint64_t process_bytes() const noexcept;

  /// What NVML lists: this process and those of the job that share the device. Empty where it is shared with none.
  [[nodiscard]] std::vector<ProcessUse> processes() const;

  /// From here on this memory stands alone: what it holds is no longer counted in front of other processes.
  void stop_sharing() noexcept { shared_.reset(); }

 private:
  void make_context() noexcept;

  DeviceBudget budget_;
  AddressSpace addresses_;
  std::unique_ptr<SharedBudget> shared_;
  std::uint64_t held_bytes_ = 0;
  bool open_ = false;
};

}  // namespace devsan::memory
