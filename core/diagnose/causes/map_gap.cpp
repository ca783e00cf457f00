#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/functional_call.h"
#include "diagnose/gap.h"
#include "diagnose/hooks_removed.h"
#include "diagnose/left_behind.h"
#include "diagnose/predicates.h"
#include "diagnose/replaced_adapter.h"

#include <algorithm>

namespace devsan::diagnose {

using model::Confidence;
using model::FixKind;
using model::Message;
using model::Module;
using model::Operand;
using model::OperandKind;

namespace {

bool is_of_model(const Operand& operand) { return is_weight(operand) && operand.registered; }

/// Whether it is what the failing module's own tensor has become on its way, or what the host has of one.
bool follows_module(const Gap& gap) {
  const Module* failing = gap.context.failing_module();
  return (gap.operand.kind == OperandKind::kTemporary || gap.operand.kind == OperandKind::kLocal) &&
         (gap.operand.device.is_host() || (failing != nullptr && failing->path == gap.module));
}

/// The first that is so is the reason: what is surer comes first.
using Reason = bool (*)(const Gap&, Hypothesis&);
constexpr Reason kReasons[] = {is_uncovered,      is_added_to_map,    is_call_past_hook,   is_older_copy,
                               is_copy_of_model,  is_replaced_weight, is_ignored_by_fsdp,  is_inner_part,
                               is_added_to_moved, is_not_among_moved, is_added_to_sharded, is_left_on_host};

/// A buffer of a module that functional_call was given other tensors for, and none for the buffer.
std::optional<Hypothesis> left_out_of_call(const Context& context) {
  for (const Operand& operand : context.operands()) {
    const Operand* partner = context.partner_of(operand);
    if (partner == nullptr || operand.kind != OperandKind::kBuffer || !is_left_out_of_call(context, operand)) continue;
    Hypothesis found(code::kMapGap);
    found.origin = placement_of(operand.provenance);
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    found.add_evidence(90, left_out_text(name_of(operand)));
    found.title = {"functional_call was given nothing for {name}, which is on {device}; {other} is on {other_device}",
                   pair_of(operand, *partner)};
    found.propose(give_buffers_to_call());
    return found;
  }
  return std::nullopt;
}

/// The map has an entry for a module and one for a part of it, and they disagree.
std::optional<Hypothesis> nested_entries(const Context& context, const Operand& torn, const Operand& partner) {
  const std::string path = context.path_of(torn);
  std::vector<const model::MapEntry*> entries;
  for (const model::MapEntry& entry : context.model()->device_map) {
    if (!entry.key.empty() && model::is_under(path, entry.key)) entries.push_back(&entry);
  }
  const auto inner =
      std::ranges::max_element(entries, {}, [](const model::MapEntry* each) { return each->key.size(); });
  const auto outer = std::ranges::find(entries, partner.device, &model::MapEntry::device);
  if (inner == entries.end() || outer == entries.end() || (*inner)->device != torn.device) return std::nullopt;
  const std::vector<model::Argument> both{{"outer", quoted((*outer)->key)},
                                          {"device", (*outer)->device.str()},
                                          {"inner", quoted((*inner)->key)},
                                          {"other_device", (*inner)->device.str()}};
  Hypothesis found(code::kMapGap);
  found.add_evidence(
      90,
      {"The map has two entries for this weight: {outer} on {device}, and {inner}, which is inside it, "
       "on {other_device}. The weight went where the inner one says, and the hook, which the later entry of the map "
       "attached, brings inputs where the outer one says.",
       both});
  found.operands = {context.index_of(torn), context.index_of(partner)};
  found.origin = placement_of(torn.provenance);
  found.title = {"the device map puts {outer} on {device} and {inner} inside it on {other_device}", both};
  found.propose(FixKind::kMap, {"leave {inner} out of the device map, or give it the GPU of {outer}", both});
  return found;
}

}  // namespace

// The operand is registered in the model, and what placed the rest of the model did not reach it.
std::optional<Hypothesis> map_gap(const Context& context) {
  Hypothesis found(code::kMapGap);
  if (context.sentence_has("does not give any device for the following parameters")) {
    found.add_evidence(95, "accelerate compared the map with the model's parameters.");
    found.title = "the device map leaves parameters without a device";
    found.propose(FixKind::kMap, "add the modules that the error message names, or a \"\" entry for the rest");
    return found;
  }
  if (!context.is_mismatch() || context.model() == nullptr) return std::nullopt;
  if (auto left_out = left_out_of_call(context)) return left_out;
  if (auto left = left_behind(context)) return left;
  if (auto removed = hooks_removed(context)) return removed;
  if (auto replaced = replaced_adapter(context)) return replaced;
  if (const Operand* torn = is_torn_by_map(context); torn != nullptr && context.partner_of(*torn) != nullptr) {
    const Operand& partner = *context.partner_of(*torn);
    if (auto nested = nested_entries(context, *torn, partner)) return nested;
    found.add_evidence(
        85, {"The map itself put {name} on {device}, and the hook of its module brings inputs to {other_device}: "
             "two modules share this weight, and their entries disagree.",
             {{"name", name_of(*torn)}, {"device", torn->device.str()}, {"other_device", partner.device.str()}}});
    found.operands = {context.index_of(*torn), context.index_of(partner)};
    found.origin = placement_of(torn->provenance);
    const std::string shared = quoted(context.path_of(*torn));
    found.title = {"{name} is shared by modules that the map puts on different GPUs", {{"name", shared}}};
    found.propose(FixKind::kMap, {"give the modules that share {name} one GPU", {{"name", shared}}});
    return found;
  }
  for (const Operand& operand : context.operands()) {
    const Operand* partner = context.partner_of(operand);
    if (partner == nullptr || context.path_of(operand).empty() || operand.device.is_meta()) continue;
    const Gap gap(context, operand, *partner);
    if (!is_of_model(operand) && !follows_module(gap)) continue;
    if (operand.device.is_accelerator() && partner->device.is_host()) continue;  // the other side is the late one
    if (is_sidecar(operand)) continue;
    Hypothesis here(code::kMapGap);
    std::ranges::any_of(kReasons, [&](Reason is_so) { return is_so(gap, here); });
    if (here.score <= found.score) continue;
    if (context.setting("zero_optimization") != nullptr || context.setting("offload") != nullptr) here.score -= 20;
    here.operands = {context.index_of(operand), context.index_of(*partner)};
    here.origin = gap.placed;
    if (here.title.empty()) {
      here.title = {"{name} on {device} belongs to {module}, which was never moved to {other_device}",
                    {{"name", name_of(operand)},
                     {"device", operand.device.str()},
                     {"module", gap.name},
                     {"other_device", partner->device.str()}}};
    }
    const Module* known = context.model()->find(gap.module);
    if (known != nullptr && std::ranges::any_of(known->tensors, [](const auto& tensor) {
          return tensor.is_buffer && !tensor.is_persistent;
        })) {
      here.add_evidence(5, "It holds a non-persistent buffer, which is not in the state dict.");
    }
    found = std::move(here);
  }
  return found.score > 0 ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace devsan::diagnose
