#include "diagnose/said_device.h"

#include <algorithm>

#include "diagnose/moves.h"
#include "diagnose/predicates.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::DeviceSource;
using model::Event;
using model::Operand;

bool is_of_metric(const Context& context, const Operand& operand) {
  if (operand.kind != model::OperandKind::kBuffer || context.model() == nullptr) return false;
  const auto& modules = context.model()->modules;
  return std::all_of(modules.begin(), modules.end(), [](const model::Module& module) {
    return std::all_of(module.tensors.begin(), module.tensors.end(), [](const auto& each) { return each.is_buffer; });
  });
}

bool is_of_replica(const Event* placed) {
  return placed != nullptr && (placed->owner.mechanism == "scatter" || placed->owner.mechanism == "replicate");
}

int weight_of(const Event& placed) {
  const bool own = placed.owner.is(model::owners::kProgram) || !placed.owner.is_known();
  if (placed.kind == model::EventKind::kLoaded)
    return placed.owner.is("torch.load") ? kWeightOfMove : 0;  // by its map_location
  if (is_deep_copy(placed)) return kWeightOfMove;
  if (is_of_replica(&placed)) return 0;                 // each on its own GPU
  if (placed.owner.is(model::owners::kPeft)) return 0;  // an adapter, where its layer is
  switch (source_of(placed)) {
    case DeviceSource::kScalar:
      return 50;
    case DeviceSource::kLiteral:
    case DeviceSource::kCurrent:
      return own ? kWeightOfLiteral : 10;
    case DeviceSource::kPeer:  // another tensor's, which is as much one value where a part of the model is met
      return own ? 12 : 0;
    default:
      return 0;
  }
}

const Operand* heaviest_of(const Context& context) {
  const Operand* heaviest = nullptr;
  bool by_model = false;
  bool idle = false;
  int most = 0;
  for (const Operand& operand : context.operands()) {
    const Event* placed = placement_of(operand.provenance);
    if (placed == nullptr || !operand.device.is_accelerator() || context.is_placed_by_map(operand)) continue;
    // Of two that weigh the same the one that was sent for nothing to where it was, or that no part of the model
    // computed, then the one that torch names.
    const int weight = weight_of(*placed);
    const bool its_by_model = placed->op == "Module.to";
    const bool its_idle = is_move_without_effect(*placed);
    const bool rather = its_idle != idle           ? its_idle
                        : its_by_model == by_model ? operand.offending && heaviest != nullptr && !heaviest->offending
                                                   : by_model;
    if (weight > most || (weight == most && weight > 0 && rather)) {
      most = weight;
      heaviest = &operand;
      by_model = its_by_model;
      idle = its_idle;
    }
  }
  return heaviest;
}

}  // namespace devsan::diagnose
