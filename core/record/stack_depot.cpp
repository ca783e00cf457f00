#include "record/stack_depot.h"

#include <algorithm>
#include <limits>

namespace devsan::record {
namespace {

// What a node of a hash table takes beside its value: links, its share of the buckets, malloc's own.
constexpr std::size_t kNodeBytes = 48;

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

std::size_t StackDepot::bytes_of(const Entry& entry) noexcept {
  return entry.frames.size() * sizeof(Frame) + sizeof(Entry) + sizeof(StackId) + 2 * kNodeBytes;
}

StackId StackDepot::find(std::span<const Frame> frames) const {
  if (frames.empty()) return kNoStack;
  const auto [first, last] = by_hash_.equal_range(hash_of(frames));
  const auto found = std::find_if(
      first, last, [&](const auto& alike) { return std::ranges::equal(entries_.at(alike.second).frames, frames); });
  return found == last ? kNoStack : found->second;
}

StackId StackDepot::put(std::span<const Frame> frames, KeepCode keep) {
  const StackId found = find(frames);
  if (found != kNoStack || frames.empty() || latest_ == std::numeric_limits<StackId>::max()) return found;
  const Entry& entry = entries_.emplace(++latest_, Entry{{frames.begin(), frames.end()}}).first->second;
  by_hash_.emplace(hash_of(frames), latest_);
  bytes_ += bytes_of(entry);
  for (const Frame& frame : frames) {
    const auto [code, is_new] = codes_.try_emplace(frame.code);
    if (is_new) {
      code->second.bytes = keep(frame.code) + sizeof(Code) + kNodeBytes;
      bytes_ += code->second.bytes;
    }
    ++code->second.frames;
  }
  return latest_;
}

void StackDepot::refer(StackId id) {
  if (const auto found = entries_.find(id); found != entries_.end()) ++found->second.references;
}

void StackDepot::drop(StackId id, std::vector<const void*>& unneeded) {
  const auto found = entries_.find(id);
  if (found == entries_.end() || --found->second.references != 0) return;
  const Entry& entry = found->second;
  for (const Frame& frame : entry.frames) {
    const auto code = codes_.find(frame.code);
    if (--code->second.frames != 0) continue;
    bytes_ -= code->second.bytes;
    codes_.erase(code);
    unneeded.push_back(frame.code);
  }
  const auto [first, last] = by_hash_.equal_range(hash_of(entry.frames));
  by_hash_.erase(std::find_if(first, last, [id](const auto& alike) { return alike.second == id; }));
  bytes_ -= bytes_of(entry);
  entries_.erase(found);
}

std::vector<Frame> StackDepot::get(StackId id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? std::vector<Frame>{} : found->second.frames;
}

}  // namespace devsan::record
