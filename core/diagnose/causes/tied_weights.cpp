#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"

#include <algorithm>

namespace devsan::diagnose {

using model::Event;
using model::FixKind;
using model::Operand;

namespace {

/// What two modules share, that one of them was moved with; null where there is none.
const Operand* shared_weight(const Context& context) {
  for (const Operand& operand : context.operands()) {
    const Event* placed = placement_of(operand.provenance);
    const bool by_program = placed != nullptr && placed->op == "Module.to" && placed->owner.is(model::owners::kProgram);
    if (!operand.tied_to.empty() && operand.device.is_accelerator() && by_program) return &operand;
  }
  return nullptr;
}

/// Whether a part of the network that has `weight` is on `device`: what its modules share is then apart from one of them.
bool has_part_on(const Context& context, const Operand& weight, const model::Device& device) {
  const std::string path = context.path_of(weight);
  const std::string network = context.model()->is_object ? path.substr(0, path.find('.')) : "";
  const auto devices = network.empty() ? context.model()->devices() : context.devices_below(network);
  return std::ranges::find(devices, device) != devices.end();
}

}  // namespace

// Two modules share one tensor, and the program put them on two GPUs: it is on that of the one that was moved last.
std::optional<Hypothesis> tied_weights(const Context& context) {
  if (!context.across_gpus() || context.model() == nullptr || context.is_hooked()) return std::nullopt;
  const Operand* weight = shared_weight(context);
  const Operand* other = weight == nullptr ? nullptr : context.partner_of(*weight);
  if (other == nullptr || !other->device.is_accelerator()) return std::nullopt;
  const Event* before = moved_there_before(*weight, *other);
  if (before == nullptr && !has_part_on(context, *weight, other->device))
    return std::nullopt;  // all of it is elsewhere
  Hypothesis found(code::kTiedWeights);
  found.operands = {context.index_of(*weight), context.index_of(*other)};
  found.origin = placement_of(weight->provenance);
  found.add_evidence(70, tie_of(*weight));
  if (before != nullptr) {
    found.add_evidence(50, second_move_of(*weight, *before));
  } else {
    found.add_evidence(35, {"The modules that share it are on two GPUs: {name} is on {device}.",
                            {{"name", name_of(*other)}, {"device", other->device.str()}}});
  }
  found.title = {"{name} is shared with {other}, and their modules are on different GPUs",
                 {{"name", name_of(*weight)}, {"other", twin_of(*weight)}}};
  found.propose(move_at_use(context, *other, *weight));
  found.propose(FixKind::kMap, {"give the modules that share {name} one GPU", {{"name", name_of(*weight)}}});
  return found;
}

}  // namespace devsan::diagnose
