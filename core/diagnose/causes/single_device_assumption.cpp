#include "diagnose/before_move.h"
#include "diagnose/carried_state.h"
#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/expectation.h"
#include "diagnose/handed_on.h"
#include "diagnose/joined_outside.h"
#include "diagnose/moves.h"
#include "diagnose/own_backward.h"
#include "diagnose/predicates.h"
#include "diagnose/results.h"
#include "diagnose/sides.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::Confidence;
using model::DeviceSource;
using model::Event;
using model::FixKind;
using model::Message;
using model::Operand;

namespace {

/// A weight that is another one as well, or that was taken from where the other side is. Returns whether it was taken.
bool tell_of_weight(const Operand& operand, const Operand& other, Hypothesis& found) {
  if (!operand.tied_to.empty()) found.add_evidence(0, tie_of(operand));
  const Event* before = moved_there_before(operand, other);
  if (before == nullptr) return false;
  const bool made = before->kind == model::EventKind::kMade;  // there on purpose
  found.add_evidence(made ? 50 : 25, second_move_of(operand, *before));
  if (made) {
    found.propose(FixKind::kCreationSite,
                  {"leave {name} where it was made: move the other modules, not the whole model{at}",
                   {{"name", name_of(operand)}, {"at", at_text(*placement_of(operand.provenance))}}});
  }
  return true;
}

/// Moves of one module in two functions of the program: the second one may not know that Module.to works in place.
void propose_to_leave_weight(const Operand& weight, const Operand& other, Hypothesis& found) {
  const Event* before = moved_there_before(weight, other);
  const Event* last = placement_of(weight.provenance);
  if (before == nullptr || before->kind != model::EventKind::kMoved || last->op != "Module.to") return;
  const model::Frame* first = before->site();
  const model::Frame* second = last->site();
  if (first == nullptr || second == nullptr || first->function == second->function) return;
  found.propose(
      FixKind::kCreationSite,
      {"leave the module on {device}: `to` moves it in place{at}; move a copy of it (copy.deepcopy), or move it "
       "back when that is done",
       {{"device", before->device.str()}, {"at", at_text(*last)}}});
}

/// What brought `operand` there, where that is not the program's own doing. Returns whether there was anything to tell.
/// @param value that said the device of the other side, "" if it is not known
bool tell_how_it_came(const Operand& operand, const std::string& value, Hypothesis& found) {
  const Event* placed = placement_of(operand.provenance);
  const Message name = name_of(operand);
  if (is_of_replica(placed)) {
    found.add_evidence(
        25, {placed->owner.mechanism == "scatter"
                 ? "DataParallel runs a replica on each GPU, and gave {name} to that of {device}; {value} is the same "
                   "in all of them."
                 : "DataParallel runs a replica on each GPU, and that of {device} computed {name}; {value} is the same "
                   "in all of them.",
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

/// Whether a module that is whole on the device of `other` is given a weight that is none of its own: what several parts
/// of the model share comes to each, and the activations stay where the part is.
bool is_shared_with_part(const Context& context, const Operand& weight, const Operand& other) {
  const model::Module* part = context.failing_module();
  const model::Model* model = context.model();
  if (part == nullptr || model == nullptr || part->path.empty() || !is_weight(weight) || is_weight(other) ||
      model::is_under(context.path_of(weight), part->path)) {
    return false;
  }
  bool has_weights = false;
  for (const model::Module& module : model->modules) {
    if (!model::is_under(module.path, part->path)) continue;
    for (const model::ModuleTensor& tensor : module.tensors) {
      if (tensor.device != other.device) return false;
      has_weights = true;
    }
  }
  return has_weights;
}

}  // namespace

// A value such as hparams.device, model.device or "cuda:0" is used for everything, and the model is on several GPUs:
// whatever meets a part of the model on another one fails. The other side was put there by a map.
std::optional<Hypothesis> single_device_assumption(const Context& context) {
  if (auto found = expectation(context)) return found;
  if (auto found = own_backward(context)) return found;
  if (!context.across_gpus()) return std::nullopt;
  if (auto found = carried_state(context)) return found;
  if (auto found = joined_with_earlier(context)) return found;
  const auto found_sides = sides_of(context);
  if (!found_sides) return joined_outside(context);
  const Sides& sides = *found_sides;
  const Operand* culprit = sides.culprit;
  const Operand* partner = sides.partner;
  const Event* left = sides.left;
  const int best = sides.weight;
  const Event* handed = sides.handed;
  const Event* without = sides.without;
  const Event* onward = handed != nullptr ? handed : without;  // that took the partner on
  const bool number = sides.is_number;
  const Event& placed = *placement_of(culprit->provenance);
  const Event* other = placement_of(partner->provenance);

  Hypothesis found(code::kSingleDeviceAssumption);
  found.origin = &placed;
  found.operands = {context.index_of(*culprit), context.index_of(*partner)};
  const std::string text = device_text_of(placed);
  const bool chosen = source_of(placed) == DeviceSource::kMap && !text.empty();
  const bool apart = part_of_result(*culprit) != nullptr && part_of_result(*partner) != nullptr && !context.has_map() &&
                     !combines_results(context);
  const bool idle = is_move_without_effect(placed);
  if (source_of(placed) == DeviceSource::kScalar) found.value = text;
  const Message culprit_name = name_of(*culprit);
  const bool lone = !culprit->member.empty() && culprit->member_home == partner->device;
  const std::vector<model::Argument> of_member = {
      {"member", quoted(culprit->member)},     {"name", culprit_name},
      {"device", culprit->device.str()},       {"owner", culprit->member_of},
      {"at", at_text(&culprit->member_given)}, {"home", partner->device.str()}};
  if (lone) {
    found.add_evidence(40, {"{owner} was given {member}, which holds {name}, on {device}{at}; everything else that it "
                            "has is on {home}.",
                            of_member});
  }
  const bool taken = tell_of_weight(*partner, *culprit, found);
  if (left != nullptr) {
    found.add_evidence(best, {"{owner} moved {name} to {device} for a call of its own{at}, and left it there.",
                              {{"owner", text_of(left->owner)},
                               {"name", culprit_name},
                               {"device", culprit->device.str()},
                               {"at", at_text(*left)}}});
  } else if (handed != nullptr) {
    found.add_evidence(best,
                       {"{other} was moved from {device} to {other_device}, where the next part of the model is{at}; "
                        "{name} was computed before that and has stayed on {device}.",
                        {{"other", name_of(*partner)},
                         {"device", culprit->device.str()},
                         {"other_device", partner->device.str()},
                         {"at", at_text(*handed)},
                         {"name", culprit_name}}});
  } else if (without != nullptr) {
    found.add_evidence(best, {"{other} was moved from {device} to {other_device}{at}; {name} was not moved with it.",
                              {{"other", name_of(*partner)},
                               {"device", culprit->device.str()},
                               {"other_device", partner->device.str()},
                               {"at", at_text(*without)},
                               {"name", culprit_name}}});
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
  } else if (idle) {
    found.add_evidence(best,
                       {"{name} was sent to {value}{at}, which is {device}, where it already was: that moved nothing.",
                        {{"name", placed.followed.empty() ? culprit_name : Message(quoted(placed.followed))},
                         {"value", quoted(text)},
                         {"at", at_text(placed)},
                         {"device", placed.device.str()}}});
  } else if (chosen) {
    found.add_evidence(
        best,
        {"{name} was sent to {device}, which {value} chose{at}.",
         {{"name", culprit_name}, {"device", placed.device.str()}, {"value", quoted(text)}, {"at", at_text(placed)}}});
  } else if (placed.op == "Module.to" && !text.empty() && is_result(*culprit)) {
    found.add_evidence(
        best,
        {"{name} was computed on {device}, with a module that was moved to {value}{at}.",
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
  if (Message said = device_value_of(onward != nullptr ? *onward : placed); !said.empty())
    found.add_evidence(0, std::move(said));
  const Message partner_name = name_of(*partner);
  const std::string partner_device = partner->device.str();
  if (context.model_spans_gpus()) {
    const bool several = context.model()->is_object;  // two networks, each whole on its GPU, or split
    found.add_evidence(25, several ? Message("{model} keeps networks on several GPUs.",
                                             {{"model", quoted(context.model()->expression)}})
                                   : Message("The model spans several GPUs, so it has no single device."));
  }
  if (!told && other != nullptr && other->owner.is(model::owners::kPeft)) {
    found.add_evidence(25, {"{name} is on {device}, where the layer is that it adapts.",
                            {{"name", partner_name}, {"device", partner_device}}});
  } else if (!told && context.is_placed_by_map(*partner) && other != nullptr &&
             other->owner.is(model::owners::kProgram)) {
    found.add_evidence(20, {"{name} is on {device}, one of several devices that the program itself chooses from{at}.",
                            {{"name", partner_name}, {"device", partner_device}, {"at", at_text(*other)}}});
  } else if (!told && context.is_placed_by_map(*partner) && other != nullptr) {
    found.add_evidence(20, {"{name} is on {device} because of the map of {owner}.",
                            {{"name", partner_name}, {"device", partner_device}, {"owner", text_of(other->owner)}}});
  } else if (!told && context.is_placed_by_map(*partner)) {
    found.add_evidence(
        20, {"{name} is on {device} because of a map.", {{"name", partner_name}, {"device", partner_device}}});
  } else if (apart && other->owner.is(model::owners::kDataParallel) && other->owner.mechanism == "gather") {
    found.add_evidence(25, {"{name} is on {device}, where DataParallel gathers the results of its replicas.",
                            {{"name", partner_name}, {"device", partner_device}}});
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
  } else if (!told && !taken && onward == nullptr && other != nullptr && source_of(*other) != source_of(placed)) {
    found.add_evidence(
        10, {"{name} on {device} was placed by other means.", {{"name", partner_name}, {"device", partner_device}}});
  }
  if (buffer_from_before_move(context)) found.score -= 50;
  if (moved_from_map(*culprit) != nullptr) found.score -= 40;  // a second owner moved it
  if (is_result_in_cut_block(context, *culprit)) found.score -= 50;
  if (is_loss_boundary(context)) found.score -= 45;
  if (is_torn_by_map(context) != nullptr) found.score -= 50;
  if (dropped_move_of(context, *culprit) != nullptr || dropped_move_of(context, *partner) != nullptr)
    found.score -= 50;  // meant to move
  if (combines_results(context)) found.score -= 35;
  if (joins_adapter_and_weight(context, *culprit, *partner)) found.score -= 50;
  if (left_by_move(context, *culprit, *partner) != nullptr || left_by_move(context, *partner, *culprit) != nullptr) {
    found.score -= 50;  // it is not registered
  }
  if (is_remembered_result(*culprit) || is_remembered_result(*partner)) found.score -= 50;
  if (is_replaced_by_result(*culprit) || is_replaced_by_result(*partner)) found.score -= 50;
  // What a call kept for the next one, and "cuda" without a number, are decisions of their own.
  const bool chosen_for_object = culprit->kind == model::OperandKind::kAttribute && is_put_by_value(placed);
  const bool kept = context.in_earlier_call(placed) && !chosen_for_object;
  if (kept || (other != nullptr && context.in_earlier_call(*other))) found.score -= 50;
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
  found.title = {
      handed != nullptr
          ? "{name} was left on {device} when {other} was moved to the next part of the model on {other_device}"
      : without != nullptr ? "{name} was left on {device} when {other} was moved to {other_device}"
      : number             ? "{name} is one number on {device}, {other} is on {other_device} with its part of the model"
      : taken              ? "{other} was moved from {device} to {other_device}, {name} is still on {device}"
      : apart  ? "{name} is a result of the part of the model on {device}, {other} of the part on {other_device}"
      : chosen ? "{name} was sent to {device}, {other} is on {other_device}"
               : usual,
      both};

  // What another module computed was sent nowhere.
  if (culprit->kind == model::OperandKind::kInput && !is_result(*culprit) && context.model_spans_gpus() &&
      is_weight(*partner)) {
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
  if (without != nullptr && is_of_returned_call(context, *without)) {
    found.propose(FixKind::kCreationSite,
                  {"move {name} as well, where {other} is moved{at}",
                   {{"name", culprit_name}, {"other", partner_name}, {"at", at_text(*without)}}});
  }
  propose_to_leave_weight(*partner, *culprit, found);
  if (lone) {
    found.propose(FixKind::kCreationSite,
                  {"give {owner} a {member} of its own on {home}{at}, or move it there", of_member});
  }
  if (idle) {
    found.propose(FixKind::kCreationSite,
                  {"send it to the device of {other} instead{at}", {{"other", partner_name}, {"at", at_text(placed)}}},
                  Confidence::kLikely, amended_edit(placed));
  }
  const bool shared = is_shared_with_part(context, *culprit, *partner);
  // Not what a module, or the program before its call, made of something else.
  const bool given = is_result(*culprit) && move_before_call(context, *culprit, *partner).has_value();
  const bool itself = culprit->output_of.empty() && !shared && !given;
  if (onward == nullptr && itself && placed.kind == model::EventKind::kMade &&
      source_of(placed) != DeviceSource::kPeer) {
    found.propose(create_with(context, *culprit, placed, *partner));
  }
  // The smaller one comes; a weight never does.
  const bool guest = apart && learns_from(context, *partner) > learns_from(context, *culprit);
  const bool smaller = left == nullptr && onward == nullptr && !guest && !sides.is_table &&
                       !is_moved_by_call(context, *culprit) && !is_weight(*partner) &&
                       context.outnumbered() != culprit && context.alone_in_statement() != culprit &&
                       &smaller_of(*culprit, *partner) == partner;
  const bool stays = (is_weight(*culprit) && !is_of_metric(context, *culprit) && !shared) || smaller ||
                     is_shared_with_part(context, *partner, *culprit);
  found.propose(stays ? move_at_use(context, *partner, *culprit) : move_at_use(context, *culprit, *partner));
  return found;
}

}  // namespace devsan::diagnose
