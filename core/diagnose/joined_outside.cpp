#include "diagnose/joined_outside.h"

#include <algorithm>

#include "diagnose/codes.h"
#include "diagnose/edits.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::Event;
using model::Message;
using model::Operand;

Message brought_back_text(const Operand& operand, const Event& back) {
  return {
      "{name} is a result of the model, and accelerate's hook brought it back to {device}, where the inputs are{at}: "
      "io_same_device.",
      {{"name", name_of(operand)}, {"device", operand.device.str()}, {"at", at_text(back)}}};
}

namespace {

/// Whether transformers' generate() placed it: the scores, the tokens and its masks are where the inputs are.
bool is_of_generate(const Operand& operand) {
  const Event* placed = placement_of(operand.provenance);
  return placed != nullptr && placed->owner.is(model::owners::kTransformers) && placed->owner.mechanism == "generate";
}

/// Whether the failing line is none of a module with a hook, which would bring what it is given to one device.
bool is_outside(const Context& context) {
  // A module that was made around the model, or from a part of it, has no hooks.
  const bool in_module = context.has_map() && context.failing_module() != nullptr && stands_in_module(context);
  return !in_module && context.any_has_map() && disagreeing_hook(context) == nullptr;
}

/// The map's move of what `later` was computed from, where `earlier` was computed from the same without it. Null: none.
const Event* moved_for(const Operand& earlier, const Operand& later) {
  const Event* origin = placement_of(earlier.provenance);
  const Event* moved = placement_of(later.provenance);
  if (!is_result(earlier) || !is_result(later) || origin == nullptr || origin->sequence == 0 || moved == nullptr ||
      moved->kind != model::EventKind::kMoved || source_of(*moved) != model::DeviceSource::kMap) {
    return nullptr;
  }
  const auto is_origin = [&](const Event& each) {
    return each.kind == origin->kind && each.sequence == origin->sequence;
  };
  return std::any_of(later.provenance.begin(), later.provenance.end(), is_origin) ? moved : nullptr;
}

}  // namespace

std::optional<Hypothesis> joined_with_earlier(const Context& context) {
  if (!is_outside(context)) return std::nullopt;
  for (const Operand& later : context.operands()) {
    const Operand* earlier = context.partner_of(later);
    const Event* moved = earlier == nullptr ? nullptr : moved_for(*earlier, later);
    if (moved == nullptr || is_generation_state(*earlier) || is_generation_state(later)) continue;
    const Operand& small = smaller_of(*earlier, later);
    Hypothesis found(code::kSingleDeviceAssumption);
    found.origin = moved;
    found.operands = {context.index_of(*earlier), context.index_of(later)};
    found.add_evidence(45, {"{name} and {other} were computed from one tensor, which was on {device}; for {other} the "
                            "device map moved the model's activations to {other_device}{at}.",
                            {{"name", name_of(*earlier)},
                             {"device", earlier->device.str()},
                             {"other", name_of(later)},
                             {"other_device", later.device.str()},
                             {"at", at_text(*moved)}}});
    if (context.any_spans_gpus()) found.add_evidence(25, "The model spans several GPUs, so it has no single device.");
    found.title = {"{other} comes from a part of the model on {other_device}; {name} was computed on {device}",
                   pair_of(*earlier, later)};
    found.propose(move_at_use(context, small, &small == earlier ? later : *earlier));
    return found;
  }
  return std::nullopt;
}

std::optional<Hypothesis> joined_outside(const Context& context) {
  if (!is_outside(context)) return std::nullopt;
  const Operand* first = nullptr;
  for (const Operand& operand : context.operands()) {
    if (!operand.device.is_accelerator() || !context.is_placed_by_map(operand) || is_of_generate(operand)) continue;
    if (first == nullptr || operand.offending) first = &operand;
  }
  const Operand* partner = first == nullptr ? nullptr : context.partner_of(*first);
  const bool of_generate = partner != nullptr && is_of_generate(*partner);
  if (partner == nullptr || !(of_generate || context.is_placed_by_map(*partner)) || is_generation_state(*first) ||
      is_generation_state(*partner)) {
    return std::nullopt;
  }
  const Operand& small = of_generate ? *first : smaller_of(*first, *partner);
  const Operand& large = &small == first ? *partner : *first;
  Hypothesis found(code::kSingleDeviceAssumption);
  found.origin = placement_of(small.provenance);
  found.operands = {context.index_of(small), context.index_of(large)};
  const bool small_came = brought_back(small) != nullptr;
  const Operand& came = small_came ? small : large;
  if (const Event* back = brought_back(came)) {
    found.add_evidence(45, brought_back_text(came, *back));
    found.add_evidence(0, {"{other} is where the map put the part of the model that it comes from.",
                           {{"other", name_of(small_came ? large : small)}}});
  } else if (of_generate) {
    found.add_evidence(45, {"{name} is on {device}, where transformers' generate keeps its inputs and what it makes of "
                            "the model's scores.",
                            {{"name", name_of(large)}, {"device", large.device.str()}}});
    found.add_evidence(
        0, {"{other} is where the map put the part of the model that it comes from.", {{"other", name_of(small)}}});
  } else {
    found.add_evidence(
        45,
        "Each is on the device that the map gave to the part of the model that it comes from; the line that combines "
        "them is not in a module with a hook, so nothing moves them to one device.");
  }
  if (context.any_spans_gpus()) found.add_evidence(25, "The model spans several GPUs, so it has no single device.");
  found.title = {of_generate
                     ? "{name} comes from a part of the model on {device}, {other} is on {other_device} with the inputs"
                     : "{name} comes from a part of the model on {device}, {other} from one on {other_device}",
                 pair_of(small, large)};
  found.propose(move_at_use(context, small, large));
  return found;
}

}  // namespace devsan::diagnose
