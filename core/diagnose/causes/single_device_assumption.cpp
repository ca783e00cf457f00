#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/signs.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::Confidence;
using model::DeviceSource;
using model::Event;
using model::Message;
using model::Operand;
using model::RepairKind;

namespace {

/// How much it weighs that the device of `placed` was said in this way: one value that stands for "the device".
int weight_of(const Event& placed) {
  const bool own = placed.owner.is(model::owners::kProgram) || !placed.owner.is_known();
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

/// Results of two parts of the model, each where the map put it, are joined by a hook or by code around the model.
std::optional<Hypothesis> joined_outside(const Scene& scene) {
  if (stands_in_module(scene) || !scene.has_map() || disagreeing_hook(scene) != nullptr) return std::nullopt;
  const Operand* first = nullptr;
  for (const Operand& operand : scene.operands()) {
    if (!operand.device.is_accelerator() || !scene.is_placed_by_map(operand)) continue;
    if (first == nullptr || operand.odd) first = &operand;
  }
  const Operand* partner = first == nullptr ? nullptr : scene.partner_of(*first);
  if (partner == nullptr || !scene.is_placed_by_map(*partner) || is_generation_state(*first) ||
      is_generation_state(*partner)) {
    return std::nullopt;
  }
  const Operand& small = smaller_of(*first, *partner);
  const Operand& large = &small == first ? *partner : *first;
  Hypothesis found(code::kSingleDeviceAssumption);
  found.origin = placement_of(small.trail);
  found.operands = {scene.index_of(small), scene.index_of(large)};
  found.saw(45,
            "Each is where the map put the part of the model that it comes from; the line that joins them is no "
            "module's own, so no hook brings them together.");
  if (scene.model_spans_gpus()) found.saw(25, "The model spans several GPUs, so no single value is its device.");
  found.title = {"{name} comes from a part of the model on {device}, {other} from one on {other_device}",
                 {{"name", name_of(small)},
                  {"device", small.device.str()},
                  {"other", name_of(large)},
                  {"other_device", large.device.str()}}};
  found.propose(move_at_use(scene, small, large));
  return found;
}

}  // namespace

// A value such as hparams.device, model.device or "cuda:0" is used for everything, and the model is on several GPUs:
// whatever meets a part of the model on another one fails. The other side was put there by a map.
std::optional<Hypothesis> single_device_assumption(const Scene& scene) {
  if (!scene.across_gpus()) return std::nullopt;
  const Operand* culprit = nullptr;
  int best = 0;
  for (const Operand& operand : scene.operands()) {
    const Event* placed = placement_of(operand.trail);
    if (placed == nullptr || !operand.device.is_accelerator() || scene.is_placed_by_map(operand)) continue;
    // Of two that weigh the same the one that torch names.
    const int weight = weight_of(*placed);
    if (weight > best || (weight == best && weight > 0 && operand.odd && !culprit->odd)) {
      best = weight;
      culprit = &operand;
    }
  }
  if (culprit == nullptr) return joined_outside(scene);
  // A weight is where the model is meant to be: what comes to it by a value of its own is the side to tell of.
  if (is_weight(*culprit)) {
    for (const Operand& operand : scene.operands()) {
      const Event* placed = placement_of(operand.trail);
      if (is_weight(operand) || placed == nullptr || operand.device == culprit->device || weight_of(*placed) == 0)
        continue;
      culprit = &operand;
      break;
    }
  }
  const Operand* partner = scene.partner_of(*culprit);
  if (partner == nullptr) return std::nullopt;
  const Event& placed = *placement_of(culprit->trail);
  const Event* other = placement_of(partner->trail);

  Hypothesis found(code::kSingleDeviceAssumption);
  found.origin = &placed;
  found.operands = {scene.index_of(*culprit), scene.index_of(*partner)};
  const std::string text = device_text_of(placed);
  if (source_of(placed) == DeviceSource::kScalar) found.value = text;
  const Message culprit_name = name_of(*culprit);
  if (text.empty()) {
    found.saw(best, {"{name} was put on {device} by one device value{at}.",
                     {{"name", culprit_name}, {"device", placed.device.str()}, {"at", at_text(placed)}}});
  } else {
    found.saw(
        best,
        {"{name} was put on {device} by one device value, {value}{at}.",
         {{"name", culprit_name}, {"device", placed.device.str()}, {"value", quoted(text)}, {"at", at_text(placed)}}});
  }
  const Message partner_name = name_of(*partner);
  const std::string partner_device = partner->device.str();
  if (scene.model_spans_gpus()) found.saw(25, "The model spans several GPUs, so no single value is its device.");
  if (scene.is_placed_by_map(*partner) && other != nullptr && other->owner.is(model::owners::kProgram)) {
    found.saw(20, {"{name} is on {device}, one of several devices that the program itself chooses from{at}.",
                   {{"name", partner_name}, {"device", partner_device}, {"at", at_text(*other)}}});
  } else if (scene.is_placed_by_map(*partner) && other != nullptr) {
    found.saw(20, {"{name} is on {device} because of a map: {owner}.",
                   {{"name", partner_name}, {"device", partner_device}, {"owner", text_of(other->owner)}}});
  } else if (scene.is_placed_by_map(*partner)) {
    found.saw(20, {"{name} is on {device} because of a map.", {{"name", partner_name}, {"device", partner_device}}});
  } else if (other != nullptr && source_of(placed) == DeviceSource::kLiteral &&
             source_of(*other) == DeviceSource::kLiteral && other->owner.is(model::owners::kProgram) &&
             placed.op == "Module.to" && other->op == "Module.to") {  // two networks
    found.saw(25,
              {"{name} on {device} was put there by a value of its own, {value}{at}; what passes between the two has "
               "to be moved.",
               {{"name", partner_name},
                {"device", partner_device},
                {"value", quoted(device_text_of(*other))},
                {"at", at_text(*other)}}});
  } else if (other != nullptr && source_of(*other) != source_of(placed)) {
    found.saw(10,
              {"{name} on {device} was placed by other means.", {{"name", partner_name}, {"device", partner_device}}});
  }
  if (moved_from_map(*culprit) != nullptr) found.score -= 40;  // a second owner moved it
  if (is_loss_boundary(scene)) found.score -= 45;
  if (is_torn_by_map(scene) != nullptr) found.score -= 50;
  if (combines_results(scene)) found.score -= 35;
  if (joins_adapter_and_weight(scene, *culprit, *partner)) found.score -= 50;
  // What a call kept for the next one, and "cuda" without a number, are decisions of their own.
  if (scene.in_earlier_call(placed) || (other != nullptr && scene.in_earlier_call(*other))) found.score -= 50;
  if (other != nullptr && source_of(*other) == DeviceSource::kCurrent) found.score -= 40;
  for (const Operand& operand : scene.operands()) {
    if (is_generation_state(operand) || is_sidecar(operand)) found.score -= 30;
  }
  found.title = {"{name} follows one device value to {device}, {other} is on {other_device} with its part of the model",
                 {{"name", culprit_name},
                  {"device", culprit->device.str()},
                  {"other", partner_name},
                  {"other_device", partner_device}}};

  if (culprit->kind == model::OperandKind::kInput && scene.model_spans_gpus()) {
    found.propose(RepairKind::kConfiguration,
                  {"send inputs to the device of the module that reads them first ({device}), not to one device value",
                   {{"device", partner_device}}});
  }
  if (scene.model_spans_gpus() && scene.has_map()) {
    const auto path = std::string(model::parent_of(scene.path_of(*partner)));
    found.propose(RepairKind::kMap,
                  {"let the map put {module} on {device} as well",
                   {{"module", path.empty() ? Message("the modules that meet here") : Message(path)},
                    {"device", culprit->device.str()}}},
                  Confidence::kPossible);
  }
  const bool itself = culprit->output_of.empty();  // not what a module made of something else
  if (itself && placed.kind == model::EventKind::kMade && source_of(placed) != DeviceSource::kPeer) {
    found.propose(create_with(scene, *culprit, placed, *partner));
  }
  // The smaller one comes; a weight never does.
  const bool stays = is_weight(*culprit) || (!is_weight(*partner) && &smaller_of(*culprit, *partner) == partner);
  found.propose(stays ? move_at_use(scene, *partner, *culprit) : move_at_use(scene, *culprit, *partner));
  return found;
}

}  // namespace devsan::diagnose
