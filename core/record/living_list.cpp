#include "record/living_list.h"

namespace devsan::record {

LivingList& LivingList::instance() {
  static auto* list = new LivingList();
  return *list;
}

void LivingList::enter(CarriedOrigin& carried) noexcept {
  const std::lock_guard lock(mutex_);
  carried.previous = nullptr;
  carried.next = first_;
  if (first_ != nullptr) first_->previous = &carried;
  first_ = &carried;
}

void LivingList::leave(CarriedOrigin& carried) noexcept {
  const std::lock_guard lock(mutex_);
  (carried.previous != nullptr ? carried.previous->next : first_) = carried.next;
  if (carried.next != nullptr) carried.next->previous = carried.previous;
}

void LivingList::change(CarriedOrigin& carried, Origin origin) noexcept {
  const std::lock_guard lock(mutex_);
  carried.origin = origin;
}

void LivingList::collect(std::vector<PlacementId>& living) const {
  const std::lock_guard lock(mutex_);
  for (const CarriedOrigin* each = first_; each != nullptr; each = each->next) {
    living.push_back(each->origin.placement);
  }
}

}  // namespace devsan::record
