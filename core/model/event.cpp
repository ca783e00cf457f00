#include "model/event.h"

#include <algorithm>

namespace devsan::model {

const Frame* Event::site() const {
  const auto own = std::find_if(stack.begin(), stack.end(), [](const Frame& frame) { return frame.is_program(); });
  if (own != stack.end()) return &*own;
  return stack.empty() ? nullptr : &stack.front();
}

const Frame* Event::written() const {
  const auto frame = std::find_if(stack.begin(), stack.end(), [](const Frame& each) {
    return each.is_known() && each.package != "torch" && each.package != "accelerate" && each.package != "python";
  });
  return frame != stack.end() ? &*frame : site();
}

const Event* placement_of(const Provenance& provenance) {
  for (const Event& event : provenance) {
    if (event.kind != EventKind::kComputed && event.kind != EventKind::kShared) return &event;
  }
  return nullptr;
}

}  // namespace devsan::model
