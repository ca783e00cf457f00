#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/own_backward.h"
#include "diagnose/predicates.h"
#include "diagnose/source_text.h"

#include <algorithm>

namespace devsan::diagnose {

using model::Confidence;
using model::DeviceSource;
using model::Event;
using model::FixKind;
using model::Message;
using model::Operand;

namespace {

/// How much it weighs that the device of `placed` was said in this way: one value that stands for "the device".
int weight_of(const Event& placed) {
  const bool own = placed.owner.is(model::owners::kProgram) || !placed.owner.is_known();
  if (placed.kind == model::EventKind::kLoaded) return placed.owner.is("torch.load") ? 65 : 0;  // by its map_location
  if (is_deep_copy(placed)) return 65;
  switch (source_of(placed)) {
    case DeviceSource::kScalar:
      return 50;
    case DeviceSource::kLiteral:
    case DeviceSource::kCurrent:
      return own ? 30 : 10;
    case DeviceSource::kPeer:  // another tensor's, which is as much one value where a part of the model is met
      return own ? 12 : 0;
    default:
      return 0;
  }
}

bool is_weight(const Operand& operand) {
  return operand.kind == model::OperandKind::kParameter || operand.kind == model::OperandKind::kBuffer;
}

/// Whether it is the state of a module without parameters, such as a metric: no part of the model decides where it is.
bool is_of_metric(const Context& context, const Operand& operand) {
  if (operand.kind != model::OperandKind::kBuffer || context.model() == nullptr) return false;
  const auto& modules = context.model()->modules;
  return std::all_of(modules.begin(), modules.end(), [](const model::Module& module) {
    return std::all_of(module.tensors.begin(), module.tensors.end(), [](const auto& each) { return each.is_buffer; });
  });
}

/// A weight that is another one as well, or that was taken from where the other side is. Returns whether it was taken.
bool tell_of_weight(const Operand& operand, const Operand& other, Hypothesis& found) {
  if (!operand.tied_to.empty()) found.add_evidence(0, tie_of(operand));
  const Event* before = moved_there_before(operand, other);
  if (before != nullptr) found.add_evidence(25, second_move_of(operand, *before));
  return before != nullptr;
}

/// That accelerate's hook brought a result of the model back, by `back`.
Message brought_back_text(const Operand& operand, const Event& back) {
  return {
      "{name} is a result of the model, and accelerate's hook brought it back to {device}, where the inputs are{at}: "
      "io_same_device.",
      {{"name", name_of(operand)}, {"device", operand.device.str()}, {"at", at_text(back)}}};
}

/// The move by which a library left what one of its objects holds on another GPU: a schedule's table. Null: none.
const Event* left_by_library(const Operand& operand) {
  const Event* placed = placement_of(operand.provenance);
  const bool held = operand.kind == model::OperandKind::kAttribute || operand.name.find('.') != std::string::npos;
  const bool by_library = placed != nullptr && placed->owner.is_known() && !placed->owner.is(model::owners::kProgram) &&
                          source_of(*placed) != DeviceSource::kMap;
  return by_library && held && !is_weight(operand) && placed->kind == model::EventKind::kMoved ? placed : nullptr;
}

/// What brought `operand` there, where that is not the program's own doing. Returns whether there was anything to tell.
/// @param value that said the device of the other side, "" if it is not known
bool tell_how_it_came(const Operand& operand, const std::string& value, Hypothesis& found) {
  const Event* placed = placement_of(operand.provenance);
  const Message name = name_of(operand);
  if (placed != nullptr && placed->owner.mechanism == "scatter") {
    found.add_evidence(25,
                       {"DataParallel runs a replica on each GPU, and gave {name} to that of {device}; {value} is the "
                        "same in all of them.",
                        {{"name", name},
                         {"device", operand.device.str()},
                         {"value", value.empty() ? Message("the value") : Message(quoted(value))}}});
    return true;
  }
  if (const Event* back = brought_back(operand)) {
    found.add_evidence(25, brought_back_text(operand, *back));
    return true;
  }
  return false;
}

/// Results of two parts of the model, each where the map put it, are joined by a hook or by code around the model.
std::optional<Hypothesis> joined_outside(const Context& context) {
  const bool in_module = context.failing_module() != nullptr && stands_in_module(context);
  if (in_module || !context.has_map() || disagreeing_hook(context) != nullptr) return std::nullopt;
  const Operand* first = nullptr;
  for (const Operand& operand : context.operands()) {
    if (!operand.device.is_accelerator() || !context.is_placed_by_map(operand)) continue;
    if (first == nullptr || operand.offending) first = &operand;
  }
  const Operand* partner = first == nullptr ? nullptr : context.partner_of(*first);
  if (partner == nullptr || !context.is_placed_by_map(*partner) || is_generation_state(*first) ||
      is_generation_state(*partner)) {
    return std::nullopt;
  }
  const Operand& small = smaller_of(*first, *partner);
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
  } else {
    found.add_evidence(
        45,
        "Each is on the device that the map gave to the part of the model that it comes from; the line that combines "
        "them is not in a module, so no hook moves them to one device.");
  }
  if (context.model_spans_gpus()) found.add_evidence(25, "The model spans several GPUs, so it has no single device.");
  found.title = {"{name} comes from a part of the model on {device}, {other} from one on {other_device}",
                 pair_of(small, large)};
  found.propose(move_at_use(context, small, large));
  return found;
}

/// One number is applied to the tensors of a model that is on several GPUs, such as a factor of all gradients.
bool is_number_for_all(const Context& context, const Operand& number, const Operand& other) {
  const bool single =
      number.shape && std::all_of(number.shape->begin(), number.shape->end(), [](auto size) { return size == 1; });
  const bool computed = !number.provenance.empty() && number.provenance.front().kind == model::EventKind::kComputed;
  const bool placed = placement_of(number.provenance) != nullptr;
  return single && computed && placed && !is_weight(number) && is_weight(other) &&
         context.failing_module() == nullptr && context.model_spans_gpus();
}

}  // namespace

// A value such as hparams.device, model.device or "cuda:0" is used for everything, and the model is on several GPUs:
// whatever meets a part of the model on another one fails. The other side was put there by a map.
std::optional<Hypothesis> single_device_assumption(const Context& context) {
  if (auto found = own_backward(context)) return found;
  if (!context.across_gpus()) return std::nullopt;
  const Operand* culprit = nullptr;
  bool culprit_by_model = false;
  int best = 0;
  for (const Operand& operand : context.operands()) {
    const Event* placed = placement_of(operand.provenance);
    if (placed == nullptr || !operand.device.is_accelerator() || context.is_placed_by_map(operand)) continue;
    // Of two that weigh the same the one that no part of the model computed, then the one that torch names.
    const int weight = weight_of(*placed);
    const bool by_model = placed->op == "Module.to";
    const bool rather = by_model == culprit_by_model ? operand.offending && culprit != nullptr && !culprit->offending
                                                     : culprit_by_model;
    if (weight > best || (weight == best && weight > 0 && rather)) {
      best = weight;
      culprit = &operand;
      culprit_by_model = by_model;
    }
  }
  if (culprit == nullptr) return joined_outside(context);
  for (const Operand& operand : context.operands()) {
    const Event* placed = placement_of(operand.provenance);
    if (&operand == culprit || placed == nullptr || !is_of_metric(context, operand) || weight_of(*placed) == 0)
      continue;
    culprit = &operand;
    best = std::max(best, weight_of(*placed));
  }
  // A weight is where the model is meant to be: what comes to it by a value of its own is the side to tell of.
  const Event& its = *placement_of(culprit->provenance);
  // By the program's own factory, and not with a layer that was told its device.
  const bool made_there = its.kind == model::EventKind::kMade && its.op == "aten::" + its.owner.mechanism;
  if (is_weight(*culprit) && !made_there && !is_of_metric(context, *culprit)) {
    for (const Operand& operand : context.operands()) {
      const Event* placed = placement_of(operand.provenance);
      if (is_weight(operand) || placed == nullptr || operand.device == culprit->device) continue;
      const bool picked = source_of(*placed) == DeviceSource::kMap && placed->owner.is(model::owners::kProgram) &&
                          placed->op != "Module.to";  // from a table of the program's own
      if (weight_of(*placed) == 0 && !picked) continue;
      culprit = &operand;
      break;
    }
  }
  const Operand* partner = context.partner_of(*culprit);
  if (partner == nullptr) return std::nullopt;
  // Of two results the one that is alone where it is has not come along.
  if (context.outnumbered() == partner && part_of_result(*partner) != nullptr) std::swap(culprit, partner);
  const Event* left = left_by_library(*culprit) == nullptr ? left_by_library(*partner) : nullptr;
  if (left != nullptr) {
    std::swap(culprit, partner);
    best = 65;
  }
  const bool number = is_number_for_all(context, *partner, *culprit);
  if (number) std::swap(culprit, partner);
  const Event& placed = *placement_of(culprit->provenance);
  const Event* other = placement_of(partner->provenance);

  Hypothesis found(code::kSingleDeviceAssumption);
  found.origin = &placed;
  found.operands = {context.index_of(*culprit), context.index_of(*partner)};
  const std::string text = device_text_of(placed);
  const bool chosen = source_of(placed) == DeviceSource::kMap && !text.empty();
  const bool apart = part_of_result(*culprit) != nullptr && part_of_result(*partner) != nullptr && !context.has_map() &&
                     !combines_results(context);
  if (source_of(placed) == DeviceSource::kScalar) found.value = text;
  const Message culprit_name = name_of(*culprit);
  if (left != nullptr) {
    found.add_evidence(best, {"{owner} moved {name} to {device} for a call of its own{at}, and left it there.",
                              {{"owner", text_of(left->owner)},
                               {"name", culprit_name},
                               {"device", culprit->device.str()},
                               {"at", at_text(*left)}}});
  } else if (number) {
    found.add_evidence(best, {"{name} is one number, computed on {device}; what it is applied to is on several GPUs.",
                              {{"name", culprit_name}, {"device", culprit->device.str()}}});
  } else if (placed.kind == model::EventKind::kLoaded) {
    found.add_evidence(best, {"{name} was read from a checkpoint to {device}{at}.",
                              {{"name", culprit_name}, {"device", placed.device.str()}, {"at", at_text(placed)}}});
  } else if (is_deep_copy(placed)) {
    found.add_evidence(best, {"{name} is a copy{at}, which is where the original was: on {device}.",
                              {{"name", culprit_name}, {"at", at_text(placed)}, {"device", placed.device.str()}}});
  } else if (apart) {
    found.add_evidence(best, {"{name} was computed on {device}, by a part of the model that was put there{at}; nothing "
                              "has moved it to {other_device}.",
                              {{"name", culprit_name},
                               {"device", placed.device.str()},
                               {"at", at_text(placed)},
                               {"other_device", partner->device.str()}}});
  } else if (chosen) {
    found.add_evidence(
        best,
        {"{name} was sent to {device}, which {value} chose{at}.",
         {{"name", culprit_name}, {"device", placed.device.str()}, {"value", quoted(text)}, {"at", at_text(placed)}}});
  } else if (text.empty()) {
    found.add_evidence(best, {"{name} was put on {device} by one device value{at}.",
                              {{"name", culprit_name}, {"device", placed.device.str()}, {"at", at_text(placed)}}});
  } else {
    found.add_evidence(
        best,
        {"{name} was put on {device} by one device value, {value}{at}.",
         {{"name", culprit_name}, {"device", placed.device.str()}, {"value", quoted(text)}, {"at", at_text(placed)}}});
  }
  const bool told = tell_how_it_came(*partner, text, found);
  tell_of_weight(*culprit, *partner, found);
  const bool taken = tell_of_weight(*partner, *culprit, found);
  if (Message said = device_value_of(placed); !said.empty()) found.add_evidence(0, std::move(said));
  const Message partner_name = name_of(*partner);
  const std::string partner_device = partner->device.str();
  if (context.model_spans_gpus()) found.add_evidence(25, "The model spans several GPUs, so it has no single device.");
  if (!told && context.is_placed_by_map(*partner) && other != nullptr && other->owner.is(model::owners::kProgram)) {
    found.add_evidence(20, {"{name} is on {device}, one of several devices that the program itself chooses from{at}.",
                            {{"name", partner_name}, {"device", partner_device}, {"at", at_text(*other)}}});
  } else if (!told && context.is_placed_by_map(*partner) && other != nullptr) {
    found.add_evidence(20, {"{name} is on {device} because of a map: {owner}.",
                            {{"name", partner_name}, {"device", partner_device}, {"owner", text_of(other->owner)}}});
  } else if (!told && context.is_placed_by_map(*partner)) {
    found.add_evidence(
        20, {"{name} is on {device} because of a map.", {{"name", partner_name}, {"device", partner_device}}});
  } else if (apart) {
    found.add_evidence(25, {"{name} was computed on {device}, by a part that was put there{at}.",
                            {{"name", partner_name}, {"device", partner_device}, {"at", at_text(*other)}}});
  } else if (other != nullptr && source_of(placed) == DeviceSource::kLiteral &&
             source_of(*other) == DeviceSource::kLiteral && other->owner.is(model::owners::kProgram) &&
             placed.op == "Module.to" && other->op == "Module.to") {  // two networks
    found.add_evidence(
        25, {"{name} on {device} was put there by a value of its own, {value}{at}; what passes between the two has "
             "to be moved.",
             {{"name", partner_name},
              {"device", partner_device},
              {"value", quoted(device_text_of(*other))},
              {"at", at_text(*other)}}});
  } else if (!told && other != nullptr && source_of(*other) != source_of(placed)) {
    found.add_evidence(
        10, {"{name} on {device} was placed by other means.", {{"name", partner_name}, {"device", partner_device}}});
  }
  if (moved_from_map(*culprit) != nullptr) found.score -= 40;  // a second owner moved it
  if (is_result_in_cut_block(context, *culprit)) found.score -= 50;
  if (is_loss_boundary(context)) found.score -= 45;
  if (is_torn_by_map(context) != nullptr) found.score -= 50;
  if (combines_results(context)) found.score -= 35;
  if (joins_adapter_and_weight(context, *culprit, *partner)) found.score -= 50;
  if (left_by_move(context, *culprit, *partner) != nullptr || left_by_move(context, *partner, *culprit) != nullptr) {
    found.score -= 50;  // it is not registered
  }
  if (is_remembered_result(*culprit) || is_remembered_result(*partner)) found.score -= 50;
  // What a call kept for the next one, and "cuda" without a number, are decisions of their own.
  if (context.in_earlier_call(placed) || (other != nullptr && context.in_earlier_call(*other))) found.score -= 50;
  if (!told && other != nullptr && source_of(*other) == DeviceSource::kCurrent) found.score -= 40;
  for (const Operand& operand : context.operands()) {
    if (is_generation_state(operand) || is_sidecar(operand)) found.score -= 30;
  }
  const std::vector<model::Argument> both = {{"name", culprit_name},
                                             {"device", culprit->device.str()},
                                             {"other", partner_name},
                                             {"other_device", partner_device}};
  const char* usual =
      "{name} follows one device value to {device}, {other} is on {other_device} with its part of the model";
  found.title = {number  ? "{name} is one number on {device}, {other} is on {other_device} with its part of the model"
                 : taken ? "{other} was moved from {device} to {other_device}, {name} is still on {device}"
                 : apart
                     ? "{name} is a result of the part of the model on {device}, {other} of the part on {other_device}"
                 : chosen ? "{name} was sent to {device}, {other} is on {other_device}"
                          : usual,
                 both};

  if (culprit->kind == model::OperandKind::kInput && context.model_spans_gpus()) {
    found.propose(FixKind::kConfiguration,
                  {"send inputs to the device of the module that reads them first ({device}), not to one device value",
                   {{"device", partner_device}}});
  }
  if (context.model_spans_gpus() && context.has_map()) {
    const auto path = std::string(model::parent_of(context.path_of(*partner)));
    found.propose(FixKind::kMap,
                  {"let the map put {module} on {device} as well",
                   {{"module", path.empty() ? Message("the modules that are combined here") : Message(path)},
                    {"device", culprit->device.str()}}},
                  Confidence::kPossible);
  }
  if (is_of_metric(context, *culprit)) {
    found.propose(FixKind::kCreationSite,
                  {"move the metric to {device}, where what it is given is", {{"device", partner_device}}});
  }
  const bool itself = culprit->output_of.empty();  // not what a module made of something else
  if (itself && placed.kind == model::EventKind::kMade && source_of(placed) != DeviceSource::kPeer) {
    found.propose(create_with(context, *culprit, placed, *partner));
  }
  // The smaller one comes; a weight never does.
  const bool smaller = left == nullptr && !is_moved_by_call(context, *culprit) && !is_weight(*partner) &&
                       context.outnumbered() != culprit && &smaller_of(*culprit, *partner) == partner;
  const bool stays = (is_weight(*culprit) && !is_of_metric(context, *culprit)) || smaller;
  found.propose(stays ? move_at_use(context, *partner, *culprit) : move_at_use(context, *culprit, *partner));
  return found;
}

}  // namespace devsan::diagnose
