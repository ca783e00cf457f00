#include "diagnose/before_move.h"
#include "diagnose/carried_state.h"
#include "diagnose/causes.h"
#include "diagnose/culprit.h"
#include "diagnose/edits.h"
#include "diagnose/expectation.h"
#include "diagnose/handed_on.h"
#include "diagnose/joined_outside.h"
#include "diagnose/moves.h"
#include "diagnose/own_backward.h"
#include "diagnose/partner.h"
#include "diagnose/predicates.h"
#include "diagnose/results.h"
#include "diagnose/said_device.h"
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

/// A weight that is another one as well, or that was taken from where the other side is.
void tell_of_weight(const Operand& operand, const Operand& other, Hypothesis& found) {
  if (!operand.tied_to.empty()) found.add_evidence(0, tie_of(operand));
  const Event* before = moved_there_before(operand, other);
  if (before == nullptr) return;
  const bool made = before->kind == model::EventKind::kMade;  // there on purpose
  found.add_evidence(made ? 50 : 25, second_move_of(operand, *before));
  if (made) {
    found.propose(FixKind::kCreationSite,
                  {"leave {name} where it was made: move the other modules, not the whole model{at}",
                   {{"name", name_of(operand)}, {"at", at_text(*placement_of(operand.provenance))}}});
  }
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

/// Of the culprit as a member of an object: what it is called there, and where the others are.
std::vector<model::Argument> facts_of_member(const Sides& sides) {
  const Operand& culprit = *sides.culprit;
  return {{"member", quoted(culprit.member)},     {"name", name_of(culprit)},
          {"device", culprit.device.str()},       {"owner", culprit.member_of},
          {"at", at_text(&culprit.member_given)}, {"home", sides.partner->device.str()}};
}

/// Whether a constructor of the object that holds the culprit made it, its class's or a base's: nobody gave it to the
/// object.
bool is_of_own_making(const Sides& sides) {
  return sides.culprit->member == sides.culprit->name && Context::at_construction(sides.placed());
}

Message how_it_is_held(const Sides& sides) {
  if (is_of_own_making(sides)) {
    return {"{name} is the only member of {owner} on {device}; all of the others are on {home}.",
            facts_of_member(sides)};
  }
  if (sides.culprit->member == sides.culprit->name) {
    return {"{owner} was given {name}, on {device}{at}; everything else that it has is on {home}.",
            facts_of_member(sides)};
  }
  return {"{owner} was given {member}, which holds {name}, on {device}{at}; everything else that it has is on {home}.",
          facts_of_member(sides)};
}

/// What speaks for another cause, and how much of the score it takes.
int doubts_of(const Context& context, const Sides& sides, bool told) {
  int doubt = 0;
  if (buffer_from_before_move(context)) doubt += 50;
  if (moved_from_map(*sides.culprit) != nullptr) doubt += 40;  // a second owner moved it
  if (is_result_in_cut_block(context, *sides.culprit)) doubt += 50;
  if (is_loss_boundary(context)) doubt += 45;
  if (is_torn_by_map(context) != nullptr) doubt += 50;
  if (dropped_move_of(context, *sides.culprit) != nullptr || dropped_move_of(context, *sides.partner) != nullptr)
    doubt += 50;  // meant to move
  if (combines_results(context)) doubt += 35;
  if (joins_adapter_and_weight(context, *sides.culprit, *sides.partner)) doubt += 50;
  if (left_by_move(context, *sides.culprit, *sides.partner) != nullptr ||
      left_by_move(context, *sides.partner, *sides.culprit) != nullptr) {
    doubt += 50;  // it is not registered
  }
  if (is_kept_by_function(*sides.culprit) && is_as_constructed(*sides.culprit)) doubt += 35;  // made once for all calls
  if (is_remembered_result(*sides.culprit) || is_remembered_result(*sides.partner)) doubt += 50;
  if (is_replaced_by_result(*sides.culprit) || is_replaced_by_result(*sides.partner)) doubt += 50;
  // What a call kept for the next one, and "cuda" without a number, are decisions of their own.
  const bool chosen_for_object =
      sides.culprit->kind == model::OperandKind::kAttribute && is_put_by_value(sides.placed());
  const bool kept = context.in_earlier_call(sides.placed()) && !chosen_for_object;
  if (kept || (sides.other() != nullptr && context.in_earlier_call(*sides.other()))) doubt += 50;
  if (!told && sides.other() != nullptr && source_of(*sides.other()) == DeviceSource::kCurrent) doubt += 40;
  for (const Operand& operand : context.operands()) {
    if (is_generation_state(operand) || is_sidecar(operand)) doubt += 30;
  }
  return doubt;
}

/// Whether the failing call made it on the device of a tensor: `torch.randint(n, (k,), device=x.device)`.
bool is_made_for_call(const Context& context, const Event& made) {
  return made.kind == model::EventKind::kMade && source_of(made) == DeviceSource::kPeer && context.made_for_use(made);
}

/// Proposes where either of the two could be put, made or brought.
void propose_for(const Context& context, const Sides& sides, Hypothesis& found) {
  const Operand* culprit = sides.culprit;
  const Operand* partner = sides.partner;
  const Event& placed = sides.placed();
  // What another module computed was sent nowhere.
  if (culprit->kind == model::OperandKind::kInput && !is_result(*culprit) && context.model_spans_gpus() &&
      is_weight(*partner)) {
    found.propose(FixKind::kConfiguration,
                  {"send inputs to the device of the module that reads them first ({device}), not to one device value",
                   {{"device", partner->device.str()}}});
  }
  if (context.model_spans_gpus() && context.has_map()) {
    const auto path = std::string(model::parent_of(context.path_of(*partner)));
    found.propose(FixKind::kMap,
                  {"let the map put {module} on {device} as well",
                   {{"module", path.empty() ? Message("the modules that are combined here") : Message(path)},
                    {"device", culprit->device.str()}}},
                  Confidence::kPossible);
  }
  if (is_read_from_checkpoint(placed)) {
    found.propose(load_to(*culprit, *partner, placed));
  }
  // A metric goes where the results are. A loss with buffers may be given results of several devices.
  const bool is_metric = is_of_metric(context, *culprit) && context.on_stack("torchmetrics");
  if (is_metric) {
    found.propose(FixKind::kCreationSite,
                  {"move the metric to {device}, where what it is given is", {{"device", partner->device.str()}}});
  }
  if (sides.without != nullptr && is_of_returned_call(context, *sides.without)) {
    found.propose(FixKind::kCreationSite,
                  {"move {name} as well, where {other} is moved{at}",
                   {{"name", name_of(*culprit)}, {"other", name_of(*partner)}, {"at", at_text(*sides.without)}}});
  }
  propose_to_leave_weight(*partner, *culprit, found);
  if (sides.is_lone_member() && !is_of_own_making(sides)) {
    found.propose(FixKind::kCreationSite,
                  {"give {owner} a {member} of its own on {home}{at}, or move it there", facts_of_member(sides)});
  }
  if (is_move_without_effect(placed)) {
    found.propose(
        FixKind::kCreationSite,
        {"send it to the device of {other} instead{at}", {{"other", name_of(*partner)}, {"at", at_text(placed)}}},
        Confidence::kLikely, amended_edit(placed));
  }
  const bool shared = is_shared_with_part(context, *culprit, *partner);
  // Not what a module, or the program before its call, made of something else.
  const bool given = is_result(*culprit) && move_before_call(context, *culprit, *partner).has_value();
  const bool itself = culprit->output_of.empty() && !shared && !given;
  if (const Event* other = sides.other();
      other != nullptr && is_made_for_call(context, *other) && culprit->kind == model::OperandKind::kAttribute) {
    found.propose(create_with(context, *partner, *other, *culprit));  // the object keeps the other one
  } else if (sides.onward() == nullptr && itself && placed.kind == model::EventKind::kMade &&
             source_of(placed) != DeviceSource::kPeer) {
    found.propose(create_with(context, *culprit, placed, *partner));
  }
  // The smaller one comes; a weight never does.
  const bool guest = sides.are_results && learns_from(context, *partner) > learns_from(context, *culprit);
  const bool smaller = sides.left == nullptr && sides.onward() == nullptr && !guest && !sides.is_table &&
                       !is_moved_by_call(context, *culprit) && !is_weight(*partner) &&
                       context.outnumbered() != culprit && context.alone_in_statement() != culprit &&
                       &smaller_of(*culprit, *partner) == partner;
  const bool stays =
      (is_weight(*culprit) && !is_metric && !shared) || smaller || is_shared_with_part(context, *partner, *culprit);
  found.propose(stays ? move_at_use(context, *partner, *culprit) : move_at_use(context, *culprit, *partner));
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
  const Event& placed = sides.placed();
  const std::string text = device_text_of(placed);

  Hypothesis found(code::kSingleDeviceAssumption);
  found.origin = &placed;
  found.operands = {context.index_of(*sides.culprit), context.index_of(*sides.partner)};
  found.title = title_of(sides);
  if (source_of(placed) == DeviceSource::kScalar) found.value = text;
  if (sides.is_lone_member()) found.add_evidence(40, how_it_is_held(sides));
  tell_of_weight(*sides.partner, *sides.culprit, found);
  found.add_evidence(sides.weight, how_it_came(sides));
  const bool told = tell_what_brought_it(sides, text, found);
  tell_of_weight(*sides.culprit, *sides.partner, found);
  if (Message said = device_value_of(sides.onward() != nullptr ? *sides.onward() : placed); !said.empty())
    found.add_evidence(0, std::move(said));
  if (context.model_spans_gpus()) {
    const bool several = context.model()->is_object;  // two networks, each whole on its GPU, or split
    found.add_evidence(25, several ? Message("{model} keeps networks on several GPUs.",
                                             {{"model", quoted(context.model()->expression)}})
                                   : Message("The model spans several GPUs, so it has no single device."));
  } else if (const model::Model* model = context.model();
             model != nullptr && is_weight(*sides.partner) && !is_weight(*sides.culprit) &&
             !sides.partner->replaced_at.is_known() && source_of(placed) == DeviceSource::kLiteral &&
             model->devices().size() == 1) {
    found.add_evidence(25, model->expression.empty()
                               ? Message("The whole model is on {device}.", {{"device", sides.partner->device.str()}})
                               : Message("All of {model} is on {device}.", {{"model", quoted(model->expression)},
                                                                            {"device", sides.partner->device.str()}}));
  }
  if (!told) tell_why_it_is_there(context, sides, found);
  found.score -= doubts_of(context, sides, told);
  propose_for(context, sides, found);
  return found;
}

}  // namespace devsan::diagnose
