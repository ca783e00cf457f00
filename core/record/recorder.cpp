#include "record/recorder.h"

#include <pthread.h>

#include <utility>

#include "record/live_origins.h"
#include "record/timeline.h"

namespace devsan::record {
namespace {

// What a placement that was not kept would have taken, about: a new stack and a code object of its own.
constexpr std::size_t kUsualBytes = 4096;

}  // namespace

Recorder::Latest::Latest() {
  const std::lock_guard lock(instance().mutex_);
  instance().threads_.push_back(this);
}

Recorder::Latest::~Latest() {
  const std::lock_guard lock(instance().mutex_);
  std::erase(instance().threads_, this);
}

Recorder::Latest& Recorder::latest() {
  thread_local Latest latest;
  return latest;
}

Recorder& Recorder::instance() {
  static auto* recorder = new Recorder();
  return *recorder;
}

void Recorder::before_fork() {
  instance().names_mutex_.lock();
  instance().mutex_.lock();
  LiveOrigins::instance().before_fork();
  Timeline::instance().before_fork();
}

void Recorder::after_fork() {
  Timeline::instance().after_fork();
  LiveOrigins::instance().after_fork();
  instance().mutex_.unlock();
  instance().names_mutex_.unlock();
}

void Recorder::after_fork_in_child() {
  after_fork();
  // The other threads are not here.
  instance().sweeping_.store(false);
  std::erase_if(instance().threads_, [](const Latest* each) { return each != &latest(); });
}

void Recorder::start(const Callbacks& callbacks, std::size_t budget) {
  // It fails only when memory runs out; then a child may wait for ever, as any program's may.
  static const int registered = pthread_atfork(&before_fork, &after_fork, &after_fork_in_child);
  static_cast<void>(registered);
  bool is_sweep_due = false;
  {
    const std::lock_guard lock(mutex_);
    callbacks_ = callbacks;
    budget_ = budget;
    is_sweep_due = is_nearly_full();  // what earlier GPUs have left is nobody's
  }
  if (is_sweep_due) sweep();
  on_.store(true, std::memory_order_release);
}

PlacementId Recorder::note(Placement placement, std::uint64_t bytes) {
  if (!on_.load(std::memory_order_acquire)) return kUnknownPlacement;
  Latest& mine = latest();
  bool is_due = false;
  bool is_held_up = false;
  const auto take = [&](std::span<const Frame> frames) {
    const std::lock_guard lock(mutex_);
    mine.noted = mine.given_out = count(placement, frames, bytes);
    is_due = wants_sweep(frames);
    is_held_up = mine.noted == kDroppedPlacement && (is_due || sweeping_.load());
  };
  callbacks_.with_stack(std::ref(take));
  PlacementId id = mine.noted;
  if (is_due || is_held_up) {
    sweep();
    mine.noted = mine.given_out = id;  // what runs while code objects are given back may place tensors
  }
  if (is_held_up) {
    callbacks_.with_stack(std::ref(take));
    id = mine.noted;
  }
  if (placement.kind == PlacementKind::kMoved) Timeline::instance().add_transfer(id, bytes);
  return id;
}

PlacementId Recorder::note_aside(const Placement& placement) {
  if (!on_.load(std::memory_order_acquire)) return kUnknownPlacement;
  PlacementId id = kUnknownPlacement;
  const auto take = [&](std::span<const Frame> frames) {
    const std::lock_guard lock(mutex_);
    id = count(placement, frames, 0);
  };
  callbacks_.with_stack(std::ref(take));
  return id == kDroppedPlacement ? kUnknownPlacement : id;
}

PlacementId Recorder::note_filled(PlacementId made, OperatorId op, std::int8_t from, PlacementId source,
                                  std::uint64_t bytes) {
  Latest& mine = latest();
  if (!is_latest(made)) return made;
  const Placement how{PlacementKind::kMoved, kHost, from, op, kNoStack, source};
  PlacementId id = made;
  const auto take = [&](std::span<const Frame> frames) {
    const std::lock_guard lock(mutex_);
    id = mine.given_out = count_filled(made, how, frames, bytes);
  };
  callbacks_.with_stack(std::ref(take));
  if (id == made) return made;
  mine.noted = kUnknownPlacement;  // a second copy into the same tensor is not what placed it
  if (id != source) Timeline::instance().add_transfer(id, bytes);
  return id;
}

PlacementId Recorder::count_filled(PlacementId made, const Placement& how, std::span<const Frame> frames,
                                   std::uint64_t bytes) {
  const auto record = placements_.find(made);
  if (!record.has_value() || record->placement.kind != PlacementKind::kMade) return made;
  if (stacks_.find(frames) != record->placement.stack) return made;
  const bool stays = record->placement.device == how.from;
  if (stays && how.source == kUnknownPlacement) return made;
  placements_.take_back(made);
  if (stays) return how.source;
  Placement moved = how;
  moved.device = record->placement.device;
  return count(moved, frames, bytes);
}

/// Under the lock.
PlacementId Recorder::count(Placement placement, std::span<const Frame> frames, std::uint64_t bytes) {
  const std::size_t before = taken();
  const std::size_t known = placements_.size();
  const bool has_room = !is_full();
  placement.stack = has_room ? stacks_.put(frames, callbacks_.keep) : stacks_.find(frames);
  const PlacementRecord* record = nullptr;
  if (placement.stack != kNoStack || frames.empty()) record = placements_.count(placement, bytes, has_room);
  if (record == nullptr) {
    asked_for_ += kUsualBytes;
    return kDroppedPlacement;
  }
  if (placements_.size() != known) stacks_.refer(placement.stack);
  asked_for_ += taken() - before;
  return record->id;
}

std::optional<PlacementRecord> Recorder::find(PlacementId id) const {
  const std::lock_guard lock(mutex_);
  return placements_.find(id);
}

std::vector<Frame> Recorder::stack(StackId id) const {
  const std::lock_guard lock(mutex_);
  return stacks_.get(id);
}

std::size_t Recorder::placement_count() const {
  const std::lock_guard lock(mutex_);
  return placements_.size();
}

std::vector<PlacementId> Recorder::placements() const {
  const std::lock_guard lock(mutex_);
  return placements_.numbers();
}

std::size_t Recorder::bytes() const {
  const std::lock_guard lock(mutex_);
  return taken();
}

std::size_t Recorder::budget() const {
  const std::lock_guard lock(mutex_);
  return budget_;
}

OperatorId Recorder::intern(std::string_view name) {
  const std::lock_guard lock(names_mutex_);
  const auto [entry, is_new] = name_ids_.try_emplace(std::string(name), static_cast<OperatorId>(names_.size() + 1));
  if (is_new) names_.emplace_back(name);
  return entry->second;
}

std::string Recorder::operator_name(OperatorId id) const {
  const std::lock_guard lock(names_mutex_);
  return id == kNoOperator || id > names_.size() ? std::string() : names_[id - 1];
}

}  // namespace devsan::record
