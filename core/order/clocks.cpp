#include "order/clocks.h"

namespace devsan::order {

std::size_t Clocks::timeline_of(Lane lane) {
  const auto [place, is_new] = timelines_.try_emplace(lane, clocks_.size());
  if (is_new) clocks_.emplace_back();
  return place->second;
}

Time Clocks::begin(Lane lane) {
  const std::size_t timeline = timeline_of(lane);
  const Time now = mark(lane).at(timeline) + 1;
  clocks_[timeline].advance(timeline, now);
  return now;
}

const VectorClock& Clocks::mark(Lane lane) {
  VectorClock& clock = clocks_[timeline_of(lane)];
  if (!lane.is_host()) clock.join(clocks_[timeline_of(kHost)]);
  return clock;
}

void Clocks::wait_for_device(int device) {
  VectorClock& host = clocks_[timeline_of(kHost)];
  for (const auto& [lane, timeline] : timelines_) {
    if (lane.device == device) host.join(clocks_[timeline]);
  }
}

}  // namespace devsan::order
