#include "order/monitor.h"

#include <algorithm>

namespace devsan::order {
namespace {

// Of one allocation. A buffer that is shared by more pieces forgets the oldest.
constexpr std::size_t kMostAccesses = 64;
constexpr std::size_t kMostGhosts = 64;
constexpr std::size_t kMostFrames = 24;

// kSmallSize of c10/cuda/CUDACachingAllocator.cpp: what is smaller comes from segments of its own.
constexpr std::size_t kSmall = std::size_t{1} << 20;

}  // namespace

std::atomic<bool> Monitor::on_{false};
std::atomic<bool> Monitor::watching_{false};

Monitor& Monitor::instance() {
  static auto* monitor = new Monitor();  // leaked: tensors are freed after statics are
  return *monitor;
}

void Monitor::start(Told told, void (*with_stack)(const record::Callbacks::UseStack&),
                    record::StackDepot::KeepCode keep) {
  const std::lock_guard lock(mutex_);
  told_ = std::move(told);
  with_stack_ = with_stack;
  keep_ = keep;
  accesses_.clear();
  ghosts_.clear();
  told_of_.clear();
  follow();
  watching_.store(true, std::memory_order_relaxed);
}

Time Monitor::launched(Lane lane) {
  const std::lock_guard lock(mutex_);
  return clocks_.begin(lane);
}

bool Monitor::host_knows(Lane lane, Time moment) {
  const std::lock_guard lock(mutex_);
  const std::size_t timeline = clocks_.timeline_of(lane);
  return clocks_.mark(kHost).at(timeline) >= moment;
}

/// Takes Python's lock, so it must be called without ours.
record::StackId Monitor::capture() {
  record::StackId id = record::kNoStack;
  with_stack_([&](std::span<const record::Frame> frames) {
    const std::lock_guard lock(mutex_);
    id = stacks_.put(frames.first(std::min(frames.size(), kMostFrames)), keep_);
  });
  return id;
}

void Monitor::run(Lane lane, std::span<const Touch> touches, const std::string* op) {
  if (touches.empty() || !is_watching()) return;
  const record::StackId stack = capture();
  std::vector<Race> found;
  {
    const std::lock_guard lock(mutex_);
    const std::size_t timeline = clocks_.timeline_of(lane);
    const Time now = clocks_.begin(lane);
    for (const Touch& touch : touches) {
      const Access access{lane, timeline, now, touch.bytes, touch.writes, op, stack};
      find_races(touch, access, found);
    }
    for (const Touch& touch : touches) note(touch, {lane, timeline, now, touch.bytes, touch.writes, op, stack});
  }
  for (const Race& race : found) told_(race);
}

void Monitor::find_races(const Touch& touch, const Access& access, std::vector<Race>& found) {
  const auto known = accesses_.find(touch.memory);
  if (known == accesses_.end()) {
    if (touch.writes && !touch.on_host && !ghosts_.empty()) find_reuse(access, found);
    return;
  }
  const VectorClock& clock = clocks_.of(access.timeline);
  for (const Access& earlier : known->second) {
    if (!are_unordered(clock, earlier, access)) continue;
    add({touch.on_host ? Race::Kind::kPinned : Race::Kind::kUnordered, earlier, access, record::kNoStack}, found);
  }
}

/// Memory that nobody has touched yet may be what its stream's kernels were given back.
void Monitor::find_reuse(const Access& access, std::vector<Race>& found) {
  const VectorClock& clock = clocks_.of(access.timeline);
  std::erase_if(ghosts_, [&](Ghost& ghost) {
    if (ghost.owner != access.lane) return false;
    std::erase_if(ghost.uses, [&](const Access& use) { return knows(clock, use); });
    const std::size_t size = access.bytes.size();
    if (!ghost.uses.empty() && size <= ghost.size && (size <= kSmall) == (ghost.size <= kSmall)) {
      add({Race::Kind::kFreed, ghost.uses.back(), access, ghost.stack}, found);
      return true;
    }
    return ghost.uses.empty();
  });
}

void Monitor::note(const Touch& touch, const Access& access) {
  std::vector<Access>& all = accesses_[touch.memory];
  const VectorClock& clock = clocks_.of(access.timeline);
  // What comes before this one, in the same bytes, is seen through it: all by a write, the same lane's reads by a read.
  std::erase_if(all, [&](const Access& earlier) {
    if (!access.bytes.cover(earlier.bytes) || !knows(clock, earlier)) return false;
    return access.writes || (!earlier.writes && earlier.timeline == access.timeline);
  });
  if (all.size() >= kMostAccesses) all.erase(all.begin());
  all.push_back(access);
}

void Monitor::add(Race race, std::vector<Race>& found) {
  const record::StackId left = race.kind == Race::Kind::kFreed ? race.freed : race.earlier.stack;
  const record::StackId right = race.kind == Race::Kind::kFreed ? race.earlier.stack : race.later.stack;
  if (told_of_.emplace(race.kind, left, right).second) found.push_back(std::move(race));
}

std::vector<Race> Monitor::under_way(const Touch& touch, const std::string* op) {
  const record::StackId stack = capture();
  std::vector<Race> met;
  const std::lock_guard lock(mutex_);
  const auto known = accesses_.find(touch.memory);
  if (known == accesses_.end()) return met;
  const std::size_t timeline = clocks_.timeline_of(kHost);
  const VectorClock& clock = clocks_.of(timeline);
  const Access access{kHost, timeline, clock.at(timeline), touch.bytes, touch.writes, op, stack};
  for (const Access& earlier : known->second) {
    if (!are_unordered(clock, earlier, access)) continue;
    met.push_back({Race::Kind::kPinned, earlier, access, record::kNoStack});
  }
  return met;
}

void Monitor::tell_unknown(std::vector<Race> met) {
  std::vector<Race> found;
  {
    const std::lock_guard lock(mutex_);
    const VectorClock& clock = clocks_.mark(kHost);
    for (Race& race : met) {
      if (!knows(clock, race.earlier)) add(std::move(race), found);
    }
  }
  for (const Race& race : found) told_(race);
}

VectorClock Monitor::mark(Lane lane) {
  VectorClock now;
  mark(lane, now);
  return now;
}

void Monitor::mark(Lane lane, VectorClock& into) {
  const std::lock_guard lock(mutex_);
  into = clocks_.mark(lane);
}

void Monitor::wait(Lane lane, const VectorClock& mark) {
  const std::lock_guard lock(mutex_);
  clocks_.wait(lane, mark);
}

void Monitor::wait_for_device(int device) {
  const std::lock_guard lock(mutex_);
  clocks_.wait_for_device(device);
}

void Monitor::freed(std::uintptr_t memory, std::size_t size, Lane owner, std::span<const std::uint64_t> recorded) {
  Ghost ghost{owner, size, {}, record::kNoStack};
  {
    const std::lock_guard lock(mutex_);
    const auto known = accesses_.find(memory);
    if (known == accesses_.end()) return;
    const VectorClock& clock = clocks_.mark(owner);
    for (const Access& use : known->second) {
      const bool is_told = use.lane.is_of_group() || use.lane.device != owner.device ||
                           std::ranges::find(recorded, static_cast<std::uint64_t>(use.lane.stream)) != recorded.end();
      if (!is_told && use.lane != owner && !knows(clock, use)) ghost.uses.push_back(use);
    }
    accesses_.erase(known);
  }
  if (ghost.uses.empty()) return;
  ghost.stack = capture();
  const std::lock_guard lock(mutex_);
  if (ghosts_.size() >= kMostGhosts) ghosts_.pop_front();
  ghosts_.push_back(std::move(ghost));
}

void Monitor::forget(std::uintptr_t memory) {
  const std::lock_guard lock(mutex_);
  accesses_.erase(memory);
}

std::vector<record::Frame> Monitor::stack(record::StackId id) const {
  const std::lock_guard lock(mutex_);
  return stacks_.get(id);
}

}  // namespace devsan::order
