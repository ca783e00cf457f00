#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace devsan::record {

/// A Python frame as it was when it was captured. Nothing is looked up until somebody prints it.
struct Frame {
  const void* code = nullptr;  ///< its PyCodeObject, which the depot keeps
  std::int32_t offset = 0;     ///< of the instruction that ran, in bytes; names line and columns

  friend bool operator==(const Frame&, const Frame&) = default;
};

/// Stands for a stack; 0 for none.
using StackId = std::uint32_t;
inline constexpr StackId kNoStack = 0;

/// Stacks, each kept once and for good: a program has few different ones, however long it runs. May be used from any
/// thread.
class StackDepot {
 public:
  /// Takes a reference to a code object, so that it outlives the frame.
  using KeepCode = void (*)(const void* code);

  /// @param max_bytes what the frames may take; a stack that has no room any more is not kept
  explicit StackDepot(std::size_t max_bytes) : max_frames_(max_bytes / sizeof(Frame)) {}

  /// @param frames innermost first
  /// @param keep called for each frame of a stack that was not there before
  /// @return the id of this stack, or `kNoStack` for an empty one and where there is no room
  StackId put(std::span<const Frame> frames, KeepCode keep);

  /// The frames of `id`, innermost first; none for `kNoStack` and for an id that was never given out.
  std::vector<Frame> get(StackId id) const;

  /// How many different stacks are kept.
  std::size_t size() const;

  /// For pthread_atfork: the child must not inherit the lock taken.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  struct Entry {
    std::vector<Frame> frames;
    StackId next;  ///< another stack of the same hash
  };

  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  std::unordered_map<std::uint64_t, StackId> by_hash_;
  std::size_t max_frames_;
  std::size_t frames_ = 0;
};

}  // namespace devsan::record
