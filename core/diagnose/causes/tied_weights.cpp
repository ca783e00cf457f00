#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/predicates.h"

#include <algorithm>

namespace devsan::diagnose {

using model::Event;
using model::FixKind;
using model::Operand;

namespace {

/// The move of a module that had put the weight where `other` is; null where none did.
const Event* moved_there_before(const Operand& weight, const Operand& other) {
  const Event* last = placement_of(weight.provenance);
  if (last == nullptr || last->op != "Module.to") return nullptr;
  const auto& all = weight.provenance;
  const auto found = std::find_if(all.begin(), all.end(), [&](const Event& event) {
    return &event != last && event.op == "Module.to" && event.device == other.device;
  });
  return found == all.end() ? nullptr : &*found;
}

/// What two modules share, that one of them was moved with; null where there is none.
const Operand* shared_weight(const Context& context) {
  for (const Operand& operand : context.operands()) {
    const Event* placed = placement_of(operand.provenance);
    const bool by_program = placed != nullptr && placed->op == "Module.to" && placed->owner.is(model::owners::kProgram);
    if (!operand.tied_to.empty() && operand.device.is_accelerator() && by_program) return &operand;
  }
  return nullptr;
}

}  // namespace

// Two modules share one tensor, and the program put them on two GPUs: it is on that of the one that was moved last.
std::optional<Hypothesis> tied_weights(const Context& context) {
  if (!context.across_gpus() || context.model() == nullptr || context.is_hooked()) return std::nullopt;
  const Operand* weight = shared_weight(context);
  const Operand* other = weight == nullptr ? nullptr : context.partner_of(*weight);
  if (other == nullptr || !other->device.is_accelerator()) return std::nullopt;
  Hypothesis found(code::kTiedWeights);
  found.operands = {context.index_of(*weight), context.index_of(*other)};
  found.origin = placement_of(weight->provenance);
  const bool is_named = weight->name.ends_with(weight->tied_to);  // by the source, as it is known by another name
  const std::string twin = quoted(is_named ? weight->qualified_name : weight->tied_to);
  found.add_evidence(70, {"{name} is tied to {other}: both are one tensor, on {device}.",
                          {{"name", name_of(*weight)}, {"other", twin}, {"device", weight->device.str()}}});
  if (const Event* before = moved_there_before(*weight, *other)) {
    found.add_evidence(50, {"{name} was moved twice: to {device}{at}, then to {other_device}{to}.",
                            {{"name", name_of(*weight)},
                             {"device", before->device.str()},
                             {"at", at_text(*before)},
                             {"other_device", weight->device.str()},
                             {"to", at_text(*found.origin)}}});
  } else {
    found.add_evidence(35, {"The modules that share it are on two GPUs: {name} is on {device}.",
                            {{"name", name_of(*other)}, {"device", other->device.str()}}});
  }
  found.title = {"{name} is shared with {other}, and their modules are on different GPUs",
                 {{"name", name_of(*weight)}, {"other", twin}}};
  found.propose(move_at_use(context, *other, *weight));
  found.propose(FixKind::kMap, {"give the modules that share {name} one GPU", {{"name", name_of(*weight)}}});
  return found;
}

}  // namespace devsan::diagnose
