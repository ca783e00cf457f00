#include "diagnose/hooks_removed.h"

#include <algorithm>
#include <string>
#include <vector>

#include "diagnose/codes.h"
#include "diagnose/predicates.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::Event;
using model::Operand;

namespace {

/// Whether a map put it there by accelerate, or by transformers with it: these hang up hooks where a map has several
/// devices (accelerate/big_modeling.py, dispatch_model).
bool is_dispatched(const Operand& weight) {
  const Event* placed = placement_of(weight.provenance);
  return is_weight(weight) && placed != nullptr && source_of(*placed) == model::DeviceSource::kMap &&
         (placed->owner.is(model::owners::kAccelerate) || placed->owner.is(model::owners::kTransformers));
}

bool spans_gpus(const std::vector<model::MapEntry>& map) {
  return std::ranges::any_of(map, [&](const model::MapEntry& entry) {
    return entry.device.is_accelerator() && entry.device != map.front().device;
  });
}

}  // namespace

std::optional<Hypothesis> hooks_removed(const Context& context) {
  if (!context.across_gpus() || context.model() == nullptr || context.is_hooked()) return std::nullopt;
  if (!spans_gpus(context.model()->device_map)) return std::nullopt;
  for (const Operand& operand : context.operands()) {
    const Operand* partner = context.partner_of(operand);
    if (partner == nullptr || !is_dispatched(operand)) continue;
    const model::Setting* removal = context.setting("remove_hook");
    // A library may move results between GPUs by itself, and be given its inputs on the wrong one.
    if (removal == nullptr && partner->kind == model::OperandKind::kInput) continue;
    Hypothesis found(code::kMapGap);
    found.origin = placement_of(operand.provenance);
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    std::vector<model::Argument> facts = pair_of(operand, *partner);
    facts.push_back({"call", removal == nullptr ? "" : quoted(removal->value)});
    facts.push_back({"place", removal == nullptr ? "" : text_of(&removal->where)});
    found.add_evidence(
        removal == nullptr ? 75 : 95,
        {removal == nullptr ? "The device map put {name} on {device}, and no module has a hook any more: nothing "
                              "brings the inputs of a module to its GPU."
                            : "The device map put {name} on {device}, and {call} has removed the hooks, at {place}: "
                              "nothing brings the inputs of a module to its GPU any more.",
         facts});
    found.title = {"the hooks of the dispatched model were removed: {name} is on {device}, {other} on {other_device}",
                   facts};
    if (removal != nullptr) {
      found.propose(model::FixKind::kConfiguration, {"keep the hooks: leave out {call}, at {place}", facts});
    }
    found.propose(model::FixKind::kConfiguration,
                  {"dispatch the model again before it is called: {code}",
                   {{"code", std::string("dispatch_model(model, device_map=model.hf_device_map)")}}});
    return found;
  }
  return std::nullopt;
}

}  // namespace devsan::diagnose
