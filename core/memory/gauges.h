#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace devsan::memory {

/// What a process holds of its GPUs, and how many steps it has made, in a file that others read while it runs.
///
/// NOTE [Gauges]
/// `devsan top` looks at programs that do nothing for it: an allocator stores its figures where it has changed them, with
/// relaxed stores into mapped memory, and whoever reads the file finds the last ones. There is no lock and no order between
/// words: a reader may see one allocation in `allocated` and not yet in `reserved`. Words of 8 bytes:
///
///   format  kFormat
///   steps   of optimizers, since the file was made
///   times   of the last 32 steps, nanoseconds of CLOCK_MONOTONIC; step n (from 0) is at n % 32
///   gpus    64 times: allocated, reserved and used bytes, under this process's numbers for its GPUs
class Gauges {
 public:
  static constexpr std::uint64_t kFormat = 0x3130'4741'5356'44;  // "DVSAG01", and a zero
  static constexpr int kGpus = 64;
  static constexpr std::size_t kTimes = 32;

  /// Makes the file and maps it. Its blocks are taken here: a disk that is full later cannot end the program by SIGBUS.
  /// @throws std::system_error
  explicit Gauges(const std::string& path);
  ~Gauges();
  Gauges(const Gauges&) = delete;
  Gauges& operator=(const Gauges&) = delete;

  /// @param gpu this process's number for it; one that has no place in the file is left out
  /// @param used with the CUDA context, as NVML counts
  void show(int gpu, std::uint64_t allocated, std::uint64_t reserved, std::uint64_t used) noexcept {
    if (gpu < 0 || gpu >= kGpus) {
      return;
    }
    Words& words = layout_->gpus[static_cast<std::size_t>(gpu)];
    words[0].store(allocated, std::memory_order_relaxed);
    words[1].store(reserved, std::memory_order_relaxed);
    words[2].store(used, std::memory_order_relaxed);
  }

  /// Counts a step that has ended now.
  void count_step() noexcept;

 private:
  using Word = std::atomic<std::uint64_t>;
  using Words = std::array<Word, 3>;
  struct Layout {
    Word format;
    Word steps;
    std::array<Word, kTimes> times;
    std::array<Words, kGpus> gpus;
  };
  static_assert(Word::is_always_lock_free, "the file is shared between processes");

  Layout* layout_;
};

}  // namespace devsan::memory
