#include "record/stack_depot.h"

#include <algorithm>

namespace devsan::record {
namespace {

std::uint64_t hash_of(std::span<const Frame> frames) noexcept {
  std::uint64_t hash = frames.size();
  for (const Frame& frame : frames) {
    const auto code = reinterpret_cast<std::uintptr_t>(frame.code);
    hash = (hash ^ code ^ (static_cast<std::uint64_t>(frame.offset) << 48U)) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 32U;
  }
  return hash;
}

}  // namespace

StackId StackDepot::put(std::span<const Frame> frames, KeepCode keep) {
  if (frames.empty()) return kNoStack;
  const std::uint64_t hash = hash_of(frames);
  const std::lock_guard lock(mutex_);
  const auto found = by_hash_.find(hash);
  const StackId first = found == by_hash_.end() ? kNoStack : found->second;
  for (StackId id = first; id != kNoStack; id = entries_[id - 1].next) {
    if (std::ranges::equal(entries_[id - 1].frames, frames)) return id;
  }
  if (frames_ + frames.size() > max_frames_) return kNoStack;
  entries_.push_back({{frames.begin(), frames.end()}, first});
  frames_ += frames.size();
  const auto id = static_cast<StackId>(entries_.size());
  by_hash_[hash] = id;
  for (const Frame& frame : frames) keep(frame.code);
  return id;
}

std::vector<Frame> StackDepot::get(StackId id) const {
  const std::lock_guard lock(mutex_);
  return id == kNoStack || id > entries_.size() ? std::vector<Frame>{} : entries_[id - 1].frames;
}

std::size_t StackDepot::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace devsan::record
