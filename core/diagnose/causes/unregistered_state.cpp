#include <algorithm>

#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/from_attribute.h"
#include "diagnose/kept.h"
#include "diagnose/moves.h"
#include "diagnose/passed_by.h"
#include "diagnose/predicates.h"
#include "diagnose/replicas.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::Event;
using model::FixKind;
using model::Message;
using model::Operand;
using model::OperandKind;

namespace {

/// Whether anything that the model registers is on `device`. A model with all of it elsewhere has not left this one
/// behind; of one that has nothing but this, on the CPU, no move can be seen.
bool model_went_to(const Context& context, const Operand& operand, const model::Device& device) {
  if (context.model() == nullptr) return true;
  const auto devices = context.model()->devices();
  if (devices.empty() && operand.device.is_host()) return true;
  const auto& moves = context.model()->placements;  // Lightning takes its model off the GPU while the exception passes
  return context.is_wrapped_by(model::owners::kDataParallel) ||
         std::any_of(moves.begin(), moves.end(), [&](const Event& move) { return move.device == device; }) ||
         std::any_of(devices.begin(), devices.end(), [&](const model::Device& each) {
           return each == device || each.is_accelerator() == device.is_accelerator();
         });
}

/// What torch.load gave and nobody has moved is where its map_location said.
void weigh_loaded(const Operand& operand, const Operand& partner, const Event& loaded, Hypothesis& found) {
  const std::string& setting = loaded.owner.setting;
  const bool said = setting.starts_with("map_location=");
  const std::vector<model::Argument> facts = {
      {"device", place_text(operand.device)}, {"at", at_text(loaded)}, {"setting", quoted(setting)}};
  found.add_evidence(25, said ? Message{"torch.load put it on {device}{at}: {setting}.", facts}
                              : Message{"torch.load put it on {device}{at}, where it was when it was saved.", facts});
  if (Message value = device_value_of(loaded); !value.empty()) found.add_evidence(0, std::move(value));
  found.fixes.insert(found.fixes.begin(), load_to(operand, partner, loaded));
}

/// Why it is still where it is.
void tell_why_it_stayed(const Context& context, const Kept& kept, Hypothesis& found) {
  const Operand& operand = kept.operand;
  const Event* placed = kept.placed;
  if (kept.is_attribute && placed != nullptr && is_read_from_checkpoint(*placed)) {
    weigh_loaded(operand, kept.partner, *placed, found);
  } else if (kept.is_late) {
    found.add_evidence(20, {"It was put on {device}{at}, after the model was placed.",
                            {{"device", operand.device.str()}, {"at", at_text(*placed)}}});
  } else if (is_as_constructed(operand)) {
    found.add_evidence(20, {"It is where it was when it was constructed{at}.", {{"at", at_text(*placed)}}});
  } else if (kept.left != nullptr) {
    found.add_evidence(25, {"{holder} was moved to {device}{at}; {name} stayed behind.",
                            {{"holder", kept.holder},
                             {"device", kept.partner.device.str()},
                             {"at", at_text(*kept.left)},
                             {"name", kept.name}}});
  } else if ((kept.is_attribute || !operand.holder.empty()) && placed != nullptr &&
             placed->kind == model::EventKind::kMade && operand.device.is_host() &&
             source_of(*placed) == model::DeviceSource::kDefault && !context.in_failing_call(*placed) &&
             !context.in_earlier_call(*placed)) {
    found.add_evidence(10, {"It was made on the CPU{at}, before the call that failed.", {{"at", at_text(*placed)}}});
  } else if (placed != nullptr && operand.registered && (kept.is_attribute || kept.is_global) && !kept.is_replicated) {
    found.score -= 45;  // remembered by a call: a cache; or made by this one
  }
  if (kept.is_replicated && (kept.is_attribute || kept.is_global)) {
    found.add_evidence(20, "DataParallel's replicas share the one of the first GPU.");
  }
}

/// What speaks for another cause, and how much of the score it takes.
int doubts_of(const Context& context, const Kept& kept) {
  const Operand& operand = kept.operand;
  const Event* placed = kept.placed;
  int doubt = 0;
  if (kept.is_attribute && operand.registered && !model_went_to(context, operand, kept.partner.device)) doubt += 45;
  // Where the program said which GPU, or took it off one, it would be wrong as a buffer, too.
  const bool by_value = placed != nullptr && operand.device.is_accelerator() && operand.registered &&
                        !kept.is_replicated && kept.left == nullptr && placed->kind == model::EventKind::kMade &&
                        !is_kept_by_function(operand) && !device_text_of(*placed).empty();
  if (by_value || (placed != nullptr && is_brought_to_host(*placed))) doubt += 30;
  if (is_sidecar(operand) || is_generation_state(operand)) doubt += 50;
  if (follows_default_device(context, operand)) doubt += 30;
  if (dropped_move_of(context, operand) != nullptr) doubt += 50;  // someone meant to move it
  // A call made it for its input: also an entry of a table that an earlier call, told a device, put there.
  const bool of_table = operand.kept_as.ends_with("]") && placed != nullptr && !is_as_constructed(operand) &&
                        (kept.is_replicated ? !context.in_failing_call(*placed) : context.in_earlier_call(*placed)) &&
                        source_of(*placed) == model::DeviceSource::kPeer;
  if ((is_cache_entry(operand) || of_table) && operand.device.is_accelerator()) doubt += 45;
  return doubt;
}

}  // namespace

// A module holds it, but has not registered it: Module.to and the copies of DataParallel pass it by.
std::optional<Hypothesis> unregistered_state(const Context& context) {
  if (!context.is_mismatch()) return std::nullopt;
  std::optional<Hypothesis> best;
  for (const Operand& operand : context.operands()) {
    const Operand* partner = context.partner_of(operand);
    if (partner == nullptr) continue;
    if (auto original = reached_original(context, operand, *partner)) return original;
    if (auto shared = shared_by_replicas(context, operand, *partner)) return shared;
    if (auto passed = passed_by(context, operand, *partner)) return passed;
    if (auto left = recomputed(context, operand, *partner)) return left;
    if (auto made = from_attribute(context, operand, *partner)) return made;
    const Kept kept(context, operand, *partner);
    if (!kept.is_attribute && !kept.is_global && operand.registered) continue;
    // What a map or a hook placed is a result of the model, which someone keeps: it has not stayed behind.
    const bool mapped = kept.placed != nullptr && source_of(*kept.placed) == model::DeviceSource::kMap;
    if (operand.registered && mapped && kept.placed->owner.is(model::owners::kAccelerate)) continue;
    Hypothesis found(code::kUnregisteredState);
    found.origin = kept.placed;
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    tell_what_keeps_it(context, kept, found);
    tell_why_it_stayed(context, kept, found);
    found.score -= doubts_of(context, kept);
    found.title = {"{name} is not registered and stayed on {device}, {other} is on {other_device}",
                   {{"name", kept.name},
                    {"device", place_text(operand.device)},
                    {"other", name_of(*partner)},
                    {"other_device", partner->device.str()}}};
    if (!best || found.score > best->score) best = std::move(found);
  }
  return best;
}

}  // namespace devsan::diagnose
