#include <algorithm>

#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/inner_part.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::Event;
using model::FixKind;
using model::Message;
using model::Operand;

namespace {

/// A parameter that was put, after the model had moved, into a module that wraps weights of the model.
const model::Event* wraps_moved_weights(const Context& context, const Operand& operand) {
  const model::Event* move = put_in_after(context, operand);
  if (move == nullptr) return nullptr;
  const std::string path = context.path_of(operand);
  const std::string_view holder = model::parent_of(path);
  const auto& modules = context.model()->modules;
  const bool wraps = !holder.empty() && std::any_of(modules.begin(), modules.end(), [&](const model::Module& module) {
    return module.path != holder && model::is_under(module.path, holder) &&
           std::any_of(module.tensors.begin(), module.tensors.end(),
                       [](const model::ModuleTensor& tensor) { return tensor.device.is_accelerator(); });
  });
  return wraps ? move : nullptr;
}

/// The weight of the layer that LoRA wraps, where that is with the input and LoRA's own weight `operand` is not:
/// "blocks.2.base.weight"; "" for none.
std::string adapted_weight(const Context& context, const Operand& operand, const Operand& partner) {
  const model::Module* failing = context.failing_module();
  const std::string path = context.path_of(operand);
  if (failing == nullptr || failing->path.empty() || !is_lora(*failing) || is_weight(partner) ||
      operand.kind != model::OperandKind::kParameter || !model::is_under(path, failing->path)) {
    return "";
  }
  for (const model::Module& module : context.model()->modules) {
    if (model::parent_of(module.path) != failing->path || model::is_under(path, module.path)) continue;
    for (const model::ModuleTensor& tensor : module.tensors) {
      if (tensor.device == partner.device && tensor.name == "weight") return module.path + ".weight";
    }
  }
  return "";
}

}  // namespace

// An adapter or the state of a quantized weight stands beside a weight and has to be where that is.
std::optional<Hypothesis> sidecar_state(const Context& context) {
  if (!context.is_mismatch()) return std::nullopt;
  for (const Operand& operand : context.operands()) {
    const Operand* partner = context.partner_of(operand);
    if (partner == nullptr) continue;
    const Event* late = wraps_moved_weights(context, operand);
    const std::string adapted = adapted_weight(context, operand, *partner);
    const bool joins = adapted.empty() && adapted_weight(context, *partner, operand).empty() &&
                       joins_adapter_and_weight(context, operand, *partner);
    if (!is_sidecar(operand) && late == nullptr && adapted.empty() && !joins) continue;
    Hypothesis found(code::kSidecarState);
    const Event* placed = placement_of(operand.provenance);
    found.origin = placed;
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    const auto inner = inner_part(context, operand, *partner);
    if (late != nullptr) {
      found.add_evidence(90, {"{name} is next to weights that were moved{at}, and was added afterwards.",
                              {{"name", name_of(operand)}, {"at", at_text(*late)}}});
    } else if (!adapted.empty()) {
      found.add_evidence(90,
                         {"{name} is an adapter's weight; {base}, which it adapts, is on {device}.",
                          {{"name", name_of(operand)}, {"base", quoted(adapted)}, {"device", partner->device.str()}}});
    } else if (joins) {
      found.add_evidence(
          90, {"{name} belongs to an adapter and is used with the weight next to it.", {{"name", name_of(operand)}}});
    } else {
      found.add_evidence(
          65, {"{name} is an adapter's weight or the state of a quantized one.", {{"name", name_of(operand)}}});
    }
    if (inner) weigh_inner_part(context, *inner, *partner, 25, found);
    if (!operand.beside.empty()) {
      if (operand.beside_device == operand.device) {
        found.score -= 40;
      } else {
        found.add_evidence(30, {"It is next to {base}, which is on {device}.",
                                {{"base", operand.beside}, {"device", operand.beside_device.str()}}});
      }
    }
    // One of them was where it belongs until then.
    if (operand.replaced_at.is_known() || is_replaced_by_result(*partner)) found.score -= 40;
    if (placed != nullptr && placed->owner.is_known()) {
      found.add_evidence(
          5, {"It was placed by {owner}{at}.", {{"owner", text_of(placed->owner)}, {"at", at_text(*placed)}}});
    }
    if (placed != nullptr) {
      if (Message said = device_value_of(*placed); !said.empty()) found.add_evidence(0, std::move(said));
    }
    const std::string& next = operand.beside.empty() ? adapted : operand.beside;
    const Message base = next.empty() ? Message("the weight next to it") : Message(next);
    const std::string device = operand.beside_device.is_known() ? operand.beside_device.str() : partner->device.str();
    found.title = {"{name} on {device} is used with a weight on {other_device}",
                   {{"name", name_of(operand)}, {"device", operand.device.str()}, {"other_device", device}}};
    if (inner) return found;
    const bool own = placed != nullptr && placed->owner.is(model::owners::kProgram);
    if (!own || context.has_map()) {
      found.propose(FixKind::kConfiguration,
                    "add the adapter before the model is dispatched, or move it by the library's own method");
    }
    if (joins && !is_sidecar(operand)) {
      found.propose(move_at_use(context, operand, *partner));
    } else {
      found.propose(FixKind::kCreationSite,
                    {"create it on the device of {base} ({device})", {{"base", base}, {"device", device}}});
    }
    return found;
  }
  return std::nullopt;
}

}  // namespace devsan::diagnose
