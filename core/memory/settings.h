#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "memory/size_rules.h"

namespace devsan::memory {

/// The allocator's options, as PYTORCH_ALLOC_CONF and PYTORCH_CUDA_ALLOC_CONF spell them
/// (c10/core/AllocatorConfig.cpp, c10/cuda/CUDAAllocatorConfig.cpp, torch 2.13).
/// Which of the variables to read is the caller's decision: torch takes PYTORCH_ALLOC_CONF first.
class Settings {
 public:
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  /// torch's defaults: nothing limited, nothing rounded beyond 512 bytes.
  Settings() = default;

  /// Reads text like "max_split_size_mb:128,expandable_segments:True".
  /// Separators are read as loosely as torch reads them: ',' and ':' are skipped, not checked.
  /// @throws std::invalid_argument with torch's sentence for an unknown key or a value out of range,
  ///         and with a sentence of our own where torch only says "stoull" or fails an internal assertion
  [[nodiscard]] static Settings parse(std::string_view text);

  /// Applies text to running settings, as torch.cuda.memory._set_allocator_settings does:
  /// max_split_size_mb, roundup_power2_divisions and garbage_collection_threshold fall back to their
  /// defaults unless named, the other options stay. Nothing changes when the text is refused.
  /// @throws std::invalid_argument as parse
  void update(std::string_view text);

  /// The text of the last parse or update.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  /// Bytes; blocks of this size and above are not split. kUnlimited when not set.
  [[nodiscard]] std::size_t max_split_size() const noexcept { return max_split_size_; }

  /// Bytes by which a block of at least max_split_size may exceed the request.
  [[nodiscard]] std::size_t max_non_split_rounding_size() const noexcept { return max_non_split_rounding_size_; }

  /// Bytes; the segment that requests between 1 and 10 MiB share.
  [[nodiscard]] std::size_t large_segment_size() const noexcept { return large_segment_size_; }

  /// Into how many steps the powers of two around `size` bytes are divided; 0 when rounding is off.
  [[nodiscard]] std::size_t roundup_power2_divisions(std::size_t size) const noexcept;

  /// By interval: 1 MiB, 2 MiB, ... 32 GiB and above.
  [[nodiscard]] std::vector<std::size_t> roundup_power2_divisions() const;

  /// The share of the allowed memory above which old cached blocks are released; 0 when off.
  [[nodiscard]] double garbage_collection_threshold() const noexcept { return garbage_collection_threshold_; }

  [[nodiscard]] bool expandable_segments() const noexcept { return expandable_segments_; }

  /// In [0, 1]; 1 when not set.
  [[nodiscard]] double per_process_memory_fraction() const noexcept { return per_process_memory_fraction_; }

  /// "native" or "cudaMallocAsync".
  [[nodiscard]] const std::string& backend() const noexcept { return backend_; }

  /// One sentence for every option that was accepted and has no effect under emulation.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  friend class SettingsParser;

  static constexpr std::size_t kIntervals = 16;

  std::string text_;
  std::string backend_ = "native";
  std::size_t max_split_size_ = kUnlimited;
  std::size_t max_non_split_rounding_size_ = kLargeBuffer;
  std::size_t large_segment_size_ = kLargeBuffer;
  std::array<std::size_t, kIntervals> roundup_power2_divisions_{};
  double garbage_collection_threshold_ = 0.0;
  double per_process_memory_fraction_ = 1.0;
  bool expandable_segments_ = false;
  std::vector<std::string> without_effect_;
};

}  // namespace devsan::memory
