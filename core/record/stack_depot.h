#pragma once

#include <cstddef>
#include <cstdint>
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

/// Stands for a stack; 0 for none. A number is given out once: what it stood for may be dropped, but never another stack.
using StackId = std::uint32_t;
inline constexpr StackId kNoStack = 0;

/// Stacks, each kept once, for as long as somebody refers to it, with the code objects that they need. Not thread-safe:
/// the recorder's lock covers it.
class StackDepot {
 public:
  /// Takes a reference to a code object, so that it outlives the frame. @return the bytes that this keeps
  using KeepCode = std::size_t (*)(const void* code);

  /// @param frames innermost first
  /// @return the number of this stack; `kNoStack` for an empty one and for one that is not there
  StackId find(std::span<const Frame> frames) const;

  /// As `find`, and keeps a stack that is not there. Nobody refers to it yet.
  /// @param keep called for each code object that is new
  StackId put(std::span<const Frame> frames, KeepCode keep);

  /// Adds a reference to `id`.
  void refer(StackId id);

  /// Takes a reference back. A stack without one is dropped.
  /// @param unneeded gets the code objects that no stack needs any more
  void drop(StackId id, std::vector<const void*>& unneeded);

  /// The frames of `id`, innermost first; none for `kNoStack` and for a stack that is not there.
  std::vector<Frame> get(StackId id) const;

  /// How many different stacks are kept.
  std::size_t size() const noexcept { return entries_.size(); }

  /// What they take, code objects and all.
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct Entry {
    std::vector<Frame> frames;
    std::size_t references = 0;
  };
  struct Code {
    std::size_t frames = 0;  ///< that run it, in all stacks
    std::size_t bytes = 0;
  };

  static std::size_t bytes_of(const Entry& entry) noexcept;

  std::unordered_map<StackId, Entry> entries_;
  std::unordered_multimap<std::uint64_t, StackId> by_hash_;
  std::unordered_map<const void*, Code> codes_;
  StackId latest_ = kNoStack;
  std::size_t bytes_ = 0;
};

}  // namespace devsan::record
