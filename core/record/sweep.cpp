// The recorder's sweep: how it makes room. See NOTE [When the recorder is full].
#include <unordered_set>

#include "record/live_origins.h"
#include "record/recorder.h"
#include "record/timeline.h"

namespace devsan::record {
namespace {

// A sweep looks at all live memory. It comes when only this part of the budget is left, and not again before as much
// was asked for: what it costs is then spread over thousands of placements.
constexpr std::size_t kPart = 8;

/// Ends a sweep, for those who wait for it too.
class Sweeping {
 public:
  explicit Sweeping(std::atomic<bool>& flag) : flag_(flag) {}
  ~Sweeping() {
    flag_.store(false);
    flag_.notify_all();
  }
  Sweeping(const Sweeping&) = delete;
  Sweeping& operator=(const Sweeping&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

bool Recorder::is_nearly_full() const noexcept { return taken() >= budget_ - budget_ / kPart; }

/// Under the lock. Never in a thread that Python does not know: it must not wait for Python's lock to give code back.
bool Recorder::wants_sweep(std::span<const Frame> frames) const noexcept {
  return !frames.empty() && is_nearly_full() && asked_for_ >= budget_ / kPart;
}

void Recorder::sweep() {
  if (sweeping_.exchange(true)) {
    sweeping_.wait(true);
    return;
  }
  std::vector<const void*> codes;
  {
    const Sweeping end(sweeping_);
    drop_unneeded(codes);
  }
  callbacks_.release(codes);
}

void Recorder::drop_unneeded(std::vector<const void*>& codes) {
  std::uint64_t began = 0;
  {
    const std::lock_guard lock(mutex_);
    began = placements_.uses();
    asked_for_ = 0;
  }
  std::vector<PlacementId> live;
  LiveOrigins::instance().collect(live);
  Timeline::instance().collect(live);
  callbacks_.collect_live(live);
  const std::lock_guard lock(mutex_);
  std::unordered_set<PlacementId> dropped;
  for (const Latest* each : threads_) live.push_back(each->given_out);
  for (const PlacementRecord& each : placements_.unneeded(live, began)) {
    if (taken() <= budget_ / 2 + dropped.size() * PlacementTable::kBytes) break;
    stacks_.drop(each.placement.stack, codes);
    dropped.insert(each.id);
  }
  placements_.drop(dropped);
}

}  // namespace devsan::record
