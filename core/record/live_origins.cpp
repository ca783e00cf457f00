#include "record/live_origins.h"

namespace devsan::record {

LiveOrigins& LiveOrigins::instance() {
  static auto* list = new LiveOrigins();
  return *list;
}

void LiveOrigins::enter(CarriedOrigin& carried) noexcept {
  const std::lock_guard lock(mutex_);
  carried.previous = nullptr;
  carried.next = first_;
  if (first_ != nullptr) first_->previous = &carried;
  first_ = &carried;
}

void LiveOrigins::leave(CarriedOrigin& carried) noexcept {
  const std::lock_guard lock(mutex_);
  (carried.previous != nullptr ? carried.previous->next : first_) = carried.next;
  if (carried.next != nullptr) carried.next->previous = carried.previous;
}

void LiveOrigins::change(CarriedOrigin& carried, Origin origin) noexcept {
  const std::lock_guard lock(mutex_);
  carried.origin = origin;
}

void LiveOrigins::collect(std::vector<PlacementId>& live) const {
  const std::lock_guard lock(mutex_);
  for (const CarriedOrigin* each = first_; each != nullptr; each = each->next) {
    live.push_back(each->origin.placement);
  }
}

}  // namespace devsan::record
