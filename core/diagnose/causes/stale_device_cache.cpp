#include "diagnose/before_move.h"
#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/functional_call.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"
#include "diagnose/results.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::Event;
using model::EventKind;
using model::FixKind;
using model::Message;
using model::Operand;
using model::OperandKind;

namespace {

/// A parameter or buffer holds what a statement of the program computed or read and put there, instead of its own memory.
std::optional<Hypothesis> replaced_state(const Context& context) {
  for (const Operand& operand : context.operands()) {
    const Operand* partner = context.partner_of(operand);
    const Event* placed = placement_of(operand.provenance);
    // Of a weight of a model without hooks DV105 tells the same.
    const bool loaded = operand.replaced_at.is_known() && placed != nullptr && placed->kind == EventKind::kLoaded &&
                        (is_sidecar(operand) || context.is_hooked());
    if (partner == nullptr || !(loaded || is_replaced_by_result(operand)) || !context.across_gpus()) continue;
    Hypothesis found(code::kStaleDeviceCache);
    found.origin = placed;
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    const std::vector<model::Argument> facts = {{"name", name_of(operand)},
                                                {"device", operand.device.str()},
                                                {"place", text_of(&operand.replaced_at)},
                                                {"other", name_of(*partner)},
                                                {"other_device", partner->device.str()}};
    found.add_evidence(95, {"An earlier call assigned a tensor on {device} to {name}, at {place}; the assignment "
                            "replaces what it held, and its device with it.",
                            facts});
    found.title = {"{name} was replaced at {place} by a tensor on {device}, {other} is on {other_device}", facts};
    found.propose(FixKind::kCreationSite,
                  {"move that tensor to {other_device}, where {other} is, before it is assigned at {place}", facts});
    return found;
  }
  return std::nullopt;
}

/// A class keeps what one of its instances computed, and another one, on another GPU, is given it.
std::optional<Hypothesis> shared_by_instances(const Context& context) {
  for (const Operand& operand : context.operands()) {
    const Operand* partner = context.partner_of(operand);
    // What a class keeps by a key may be made right by the key.
    if (partner == nullptr || !is_of_class(operand) || operand.kept_as.ends_with(']') || !context.across_gpus() ||
        operand.provenance.empty() || operand.provenance.front().kind != EventKind::kComputed ||
        is_as_constructed(operand)) {
      continue;
    }
    Hypothesis found(code::kStaleDeviceCache);
    found.origin = placement_of(operand.provenance);
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    std::vector<model::Argument> facts = pair_of(operand, *partner);
    facts.push_back({"attribute", quoted(operand.kept_as)});
    facts.push_back({"class", quoted(operand.kept_as.substr(0, operand.kept_as.find('.')))});
    found.add_evidence(110, {"{attribute} is kept on the class: all instances of {class} share it. It was computed on "
                             "{device}, and is used on {other_device}.",
                             facts});
    found.title = {"{attribute} is shared by all instances of {class} and is on {device}, {other} is on {other_device}",
                   facts};
    found.propose(
        FixKind::kCreationSite,
        {"keep {attribute} in each instance: a registered buffer where {class} is a module, else an attribute "
         "of self that its constructor makes",
         facts});
    return found;
  }
  return std::nullopt;
}

/// What a module has cached was copied with the module, and stayed where it was when the copy was moved.
Hypothesis copied_cache(const Context& context, const Operand& operand, const Operand& partner) {
  Hypothesis found(code::kStaleDeviceCache);
  found.origin = placement_of(operand.provenance);
  found.operands = {context.index_of(operand), context.index_of(partner)};
  std::vector<model::Argument> facts = pair_of(operand, partner);
  facts.push_back({"path", quoted(operand.kept_as)});
  facts.push_back({"at", at_text(*found.origin)});
  found.add_evidence(85,
                     {"{name} is {path}: a call made it on {device}, and the copy of its module has it, too{at}. Its "
                      "key does not say for which device it was made, and no move of the module moves it.",
                      facts});
  found.title = {"{name} was cached on {device} and is used with {other} on {other_device}", facts};
  found.propose(FixKind::kCreationSite, "make the device part of the key, or keep one copy for each device");
  return found;
}

/// functional_call puts a buffer into the module that was collected before the module was moved.
std::optional<Hypothesis> given_to_call(const Context& context) {
  for (const Operand& operand : context.operands()) {
    const Operand* partner = context.partner_of(operand);
    if (partner == nullptr || !is_given_elsewhere(context, operand)) continue;
    Hypothesis found(code::kStaleDeviceCache);
    found.origin = placement_of(operand.provenance);
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    const std::vector<model::Argument> facts = pair_of(operand, *partner);
    found.add_evidence(95, {"functional_call was given {name} on {device}, from before the module was moved: the "
                            "module's own is elsewhere.",
                            facts});
    found.title = {"{name} was given to functional_call on {device}, {other} is on {other_device}", facts};
    found.propose(FixKind::kCreationSite,
                  {"collect the buffers after the model is moved, or where they are used: {code}",
                   {{"code", std::string("dict(model.named_buffers())")}}});
    return found;
  }
  return std::nullopt;
}

/// Whether `operand` is an entry of a table that modules of one kind share: each would have made it for itself.
bool is_shared_entry(const Context& context, const Operand& operand, const model::Module& failing) {
  const model::Module* holder = context.model() == nullptr ? nullptr : context.model()->find(operand.holder);
  return is_cache_entry(operand) ||
         (operand.kept_as.ends_with(']') && holder != nullptr && holder->type == failing.type);
}

/// A cache that modules on several GPUs share: one of them has filled it, and another one is given the same.
std::optional<Hypothesis> filled_by_other_module(const Context& context) {
  const model::Module* failing = context.failing_module();
  for (const Operand& operand : context.operands()) {
    const Operand* partner = context.partner_of(operand);
    const bool of_other = operand.kind == OperandKind::kAttribute && failing != nullptr && !operand.holder.empty() &&
                          operand.holder != failing->path && is_shared_entry(context, operand, *failing);
    if (partner == nullptr || !is_result(operand) || !of_other || !context.across_gpus()) continue;
    Hypothesis found(code::kStaleDeviceCache);
    found.origin = placement_of(operand.provenance);
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    found.add_evidence(95, {"{name} is {entry}, as a module on {device} has computed it; {module}, which runs on "
                            "{other_device}, shares that cache.",
                            {{"name", name_of(operand)},
                             {"device", operand.device.str()},
                             {"entry", quoted(operand.kept_as)},
                             {"module", quoted(failing->path)},
                             {"other_device", partner->device.str()}}});
    found.title = {"{name} was cached on {device} and is used with {other} on {other_device}",
                   pair_of(operand, *partner)};
    found.propose(FixKind::kCreationSite, "make the device part of the key, or keep one copy for each device");
    return found;
  }
  return std::nullopt;
}

/// A global that one part of the model has filled in this pass, and another part, on another GPU, is given the same.
std::optional<Hypothesis> filled_by_other_part(const Context& context) {
  if (!context.across_gpus() || !context.model_spans_gpus() || context.failing_module() == nullptr) return std::nullopt;
  for (const Operand& operand : context.operands()) {
    const Operand* partner = context.partner_of(operand);
    const Event* placed = placement_of(operand.provenance);
    if (partner == nullptr || placed == nullptr || operand.kind != OperandKind::kGlobal || !is_result(operand) ||
        operand.requires_grad || part_of_result(operand) != nullptr ||  // what a part hands on to another one
        is_captured(operand) || is_as_constructed(operand) || !context.in_failing_call(*placed)) {
      continue;
    }
    Hypothesis found(code::kStaleDeviceCache);
    found.origin = placed;
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    found.add_evidence(95,
                       {"{name} is kept in a global, which all parts of the model share: it was computed on {device}, "
                        "for a part that is there, and is used on {other_device}.",
                        pair_of(operand, *partner)});
    found.title = {"{name} was cached on {device} and is used with {other} on {other_device}",
                   pair_of(operand, *partner)};
    found.propose(FixKind::kCreationSite, "make the device part of the key, or keep one copy for each device");
    return found;
  }
  return std::nullopt;
}

}  // namespace

// An earlier call made it and kept it, and the key under which it was kept does not say for which device.
std::optional<Hypothesis> stale_device_cache(const Context& context) {
  if (!context.is_mismatch()) return std::nullopt;
  if (auto found = replaced_state(context)) return found;
  if (auto found = given_to_call(context)) return found;
  if (auto found = buffer_from_before_move(context)) return found;
  if (auto found = shared_by_instances(context)) return found;
  if (auto found = filled_by_other_module(context)) return found;
  if (auto found = filled_by_other_part(context)) return found;
  std::optional<Hypothesis> best;
  for (const Operand& operand : context.operands()) {
    const bool kept = operand.kind == OperandKind::kAttribute || operand.kind == OperandKind::kGlobal;
    const Operand* partner = context.partner_of(operand);
    const Event* placed = placement_of(operand.provenance);
    if (!operand.registered || partner == nullptr || placed == nullptr) continue;
    const Operand* alone = context.outnumbered();
    if (alone != nullptr && alone != &operand) continue;  // the others are where they belong
    if (placed->kind == EventKind::kLoaded) continue;     // read from a checkpoint, not computed for a device
    if (is_deep_copy(*placed)) {
      if (!best && is_cache_entry(operand) && operand.device.is_accelerator())
        best = copied_cache(context, operand, *partner);
      continue;
    }
    if (placed->owner.mechanism == "replicate") continue;  // a replica lives as long as its call
    if (combines_a_list(context) && is_of_same_statement(*placed, placement_of(partner->provenance))) continue;
    const bool earlier = context.in_earlier_call(*placed);
    if (!kept && !earlier) continue;
    if (is_as_constructed(operand) || context.in_failing_call(*placed)) continue;
    Hypothesis found(code::kStaleDeviceCache);
    found.origin = placed;
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    const Message holder = !operand.holder.empty()                ? Message(operand.holder)
                           : is_of_class(operand)                 ? Message(quoted(operand.kept_as))
                           : operand.kind == OperandKind::kGlobal ? Message("a global or a class")
                                                                  : Message("a longer-lived object");
    found.add_evidence(65, {"{name} was computed by an earlier call{at} and is kept by {holder}.",
                            {{"name", name_of(operand)}, {"at", at_text(*placed)}, {"holder", holder}}});
    if (earlier && placed->step >= 0) {
      found.add_evidence(15, "It is older than the inputs of this call.");
    } else if (earlier) {
      found.add_evidence(15, "That was another call of the function that failed.");
    }
    const bool is_cache =
        Context::is_called(operand, {"cache", "cos", "sin", "freqs", "table", "grid", "anchor", "mask"});
    const bool learns =
        !earlier && !is_cache && operand.holder.empty() && partner->requires_grad && !operand.requires_grad;
    if (learns) {
      found.add_evidence(15, {"{other} is computed from weights on {other_device}, which learn; {name} does not.",
                              pair_of(operand, *partner)});
    }
    if (is_cache) found.add_evidence(10, "Its name suggests a cache.");
    if (is_captured(operand)) found.score -= 30;
    if (operand.kind == OperandKind::kGlobal && !is_captured(operand))
      found.add_evidence(5, "Every instance shares it.");
    // Made without a device: it was not computed for the device of anything that a call was given.
    const bool for_call = operand.kind == OperandKind::kGlobal && source_of(*placed) == model::DeviceSource::kPeer;
    if (!earlier && operand.device.is_host() && !for_call)
      found.score -= source_of(*placed) == model::DeviceSource::kDefault ? 45 : 25;
    if (is_generation_state(operand) || is_sidecar(operand) || is_loss_of_part(context, operand)) found.score -= 50;
    if (dropped_move_of(context, operand) != nullptr) found.score -= 50;  // someone meant to move it
    if (operand.kind == OperandKind::kAttribute && is_put_by_value(*placed))
      found.score -= 45;  // for no device of a call
    // A hook of a layer is given what any layer computed: what it keeps has no key that could say for which.
    const bool in_hook = context.failing_module() != nullptr && !stands_in_module(context);
    if (in_hook && context.is_placed_by_map(operand) && context.is_placed_by_map(*partner)) found.score -= 30;
    found.title = {"{name} was cached on {device} and is used with {other} on {other_device}",
                   pair_of(operand, *partner)};
    if (in_hook) {
      found.propose(move_at_use(context, operand, *partner));
    } else if (learns) {
      found.propose(FixKind::kCreationSite,
                    {"move {name} to the device of {other} where it is stored", pair_of(operand, *partner)});
    } else {
      found.propose(FixKind::kCreationSite, "make the device part of the key, or keep one copy for each device");
    }
    if (!best || found.score > best->score) best = std::move(found);
  }
  return best;
}

}  // namespace devsan::diagnose
