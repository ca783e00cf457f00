#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory/block.h"
#include "memory/process.h"
#include "memory/use.h"

namespace devsan::memory {

/// The torch whose sentences are to be spoken.
struct TorchRelease {
  int major = 2;
  int minor = 13;

  auto operator<=>(const TorchRelease&) const = default;
};

/// Every figure of torch's out-of-memory sentence. All sizes are bytes.
struct OutOfMemoryFigures {
  int device = 0;
  std::size_t requested = 0;  ///< what the program asked for
  std::size_t tried = 0;      ///< what was asked of the device: the size of the segment
  std::uint64_t device_total = 0;
  std::uint64_t device_free = 0;  ///< after the cache was emptied
  std::uint64_t busy = 0;         ///< held by another process; 0: the sentence names none
  std::uint32_t busy_process_id = 1;
  std::uint64_t process = 0;  ///< held by this process, with its context
  /// All processes that share the device, this one included, in the order in which they came to it; null: this one alone.
  /// Behind a pointer, because an exception must be copied without throwing.
  std::shared_ptr<const std::vector<ProcessUse>> sharing;
  std::optional<std::uint64_t> allowed;  ///< the cap of set_memory_fraction
  std::uint64_t allocated = 0;
  std::uint64_t reserved = 0;
  bool expandable_segments = false;
};

/// A block that the program held at one moment.
struct TaggedBlock {
  Address address = 0;
  std::size_t size = 0;
  Tag tag = 0;
  std::uint64_t serial = 0;  ///< of its allocation
  Scope scope = 0;           ///< what took it; 0 where peaks were not watched
  bool momentary = false;    ///< needed for a moment only
  Use use = Use::kNone;
};

/// What a device held when memory ran out: kept until it runs out again, because a report is made after the stack of the
/// failing call is gone, and its memory with it.
struct Exhaustion {
  OutOfMemoryFigures figures;
  std::string sentence;
  std::vector<TaggedBlock> held;
};

/// A size as torch prints it: "512 bytes", "20.00 MiB", "1.50 GiB" (c10::CachingAllocator::format_size).
[[nodiscard]] std::string format_size(std::uint64_t bytes);

/// The sentence of the given release, letter for letter.
[[nodiscard]] std::string out_of_memory_sentence(const OutOfMemoryFigures& figures, TorchRelease release);

/// The device has no room for a request. what() is the text of torch.OutOfMemoryError.
class OutOfMemory : public std::exception {
 public:
  OutOfMemory(const OutOfMemoryFigures& figures, TorchRelease release);

  /// A request that torch refuses before it looks at the device.
  static OutOfMemory beyond_one_exabyte(int device, std::size_t requested);

  [[nodiscard]] const char* what() const noexcept override { return sentence_->c_str(); }
  [[nodiscard]] const OutOfMemoryFigures& figures() const noexcept { return figures_; }

 private:
  OutOfMemory(const OutOfMemoryFigures& figures, std::string sentence);

  OutOfMemoryFigures figures_;
  // Shared, because an exception must be copied without throwing.
  std::shared_ptr<const std::string> sentence_;
};

}  // namespace devsan::memory
