// A gap that was made by putting a tensor in the place of a weight: the move of the model came before.
#include "diagnose/gap.h"
#include "diagnose/predicates.h"

#include <algorithm>

namespace devsan::diagnose {

using model::Event;
using model::EventKind;
using model::FixKind;
using model::Message;

namespace {

constexpr const char* kCopyInstead =
    "copy what is loaded into the model's own weights: load_state_dict without assign=True";

/// The first move of the model or of a part of it to a GPU; null without one.
const Event* moved_to_gpu(const model::Model& model) {
  const auto found = std::ranges::find_if(model.placements, [](const Event& event) {
    return event.kind == EventKind::kMoved && event.device.is_accelerator();
  });
  return found == model.placements.end() ? nullptr : &*found;
}

void tell_of_checkpoint(const Gap& gap, Hypothesis& found) {
  found.add_evidence(
      85, {"{name} was read from a checkpoint to {device}{at}, and put there in the place of the model's own, at {by}.",
           {{"name", name_of(gap.operand)},
            {"device", place_text(gap.operand.device)},
            {"at", at_text(*gap.placed)},
            {"by", text_of(&gap.operand.replaced_at)}}});
  found.title = {"{name} was replaced by a tensor of a checkpoint, on {device}; {other} is on {other_device}",
                 pair_of(gap.operand, gap.partner)};
  found.propose(FixKind::kCreationSite, kCopyInstead);
}

}  // namespace

bool is_replaced_weight(const Gap& gap, Hypothesis& found) {
  // A hook puts weights back by itself.
  if (!gap.operand.replaced_at.is_known() || gap.context.hooked_parent(gap.module) != nullptr) return false;
  const Event* move = moved_to_gpu(gap.model());
  const Event* placed = gap.placed;
  // What was made before the move had its chance to be moved along: it was put in for the first time.
  if (move != nullptr && placed != nullptr && placed->kind == EventKind::kMade && placed->sequence != 0 &&
      placed->sequence < move->sequence) {
    return false;
  }
  if (placed != nullptr && is_read_from_checkpoint(*placed)) {
    tell_of_checkpoint(gap, found);
    return true;
  }
  if (move == nullptr && !is_sharded(gap.model())) return false;
  // The tensor of another model, which brought its own move with it.
  const auto went_to_partner = [&](const Event& event) {
    return model::is_under(gap.module, event.subject) && event.device == gap.partner.device;
  };
  const bool taken = move != nullptr && move->device == gap.operand.device && gap.operand.device.is_accelerator() &&
                     std::ranges::none_of(gap.model().placements, went_to_partner);
  const std::string there = move == nullptr || taken ? gap.partner.device.str() : move->device.str();
  found.add_evidence(
      85, {taken ? "{name} was replaced at {by}, by a tensor on {place}."
           : move == nullptr
               ? "fully_shard moved the model to the GPU; {name} was replaced by a tensor on {place}, at {by}."
               : "The model was moved to {device}{at}; {name} was replaced by a tensor on {place}, at {by}.",
           {{"device", there},
            {"at", move == nullptr ? Message() : at_text(*move)},
            {"name", name_of(gap.operand)},
            {"place", place_text(gap.operand.device)},
            {"by", text_of(&gap.operand.replaced_at)}}});
  found.title = {taken ? "{name} was replaced by a tensor on {device}, {other} is on {other_device}"
                       : "{name} was replaced by a tensor on {device} after the model was moved to {other_device}",
                 {{"name", name_of(gap.operand)},
                  {"device", gap.operand.device.str()},
                  {"other", name_of(gap.partner)},
                  {"other_device", there}}};
  if (gap.operand.replaced_at.source.find("load_state_dict") != std::string::npos) {
    found.propose(FixKind::kCreationSite, kCopyInstead);
    return true;
  }
  found.propose(FixKind::kCreationSite,
                {"put the new {name} on the device of the one that it replaces", {{"name", name_of(gap.operand)}}});
  return true;
}

}  // namespace devsan::diagnose
