#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"
#include "diagnose/results.h"
#include "diagnose/said_device.h"
#include "diagnose/source_text.h"

#include <algorithm>

namespace devsan::diagnose {

using model::FixKind;
using model::Message;
using model::Operand;
using model::OperandKind;

namespace {

/// The operand to move: one that is alone on its device, unless it is what the model gave; else by its name, or its kind.
const Operand* label_side(const Context& context) {
  for (const Operand& operand : context.operands()) {
    if (is_running_total(context, operand)) return &operand;
  }
  const Operand* alone = context.outnumbered();
  if (alone != nullptr && alone->role != "self" && alone->role != "input") return alone;
  for (const Operand& operand : context.operands()) {
    if (operand.role == "target" || Context::is_called(operand, {"label", "target", "num_items", "tr_loss", "total"})) {
      return &operand;
    }
  }
  for (const Operand& operand : context.operands()) {
    if (operand.kind == OperandKind::kInput) return &operand;
  }
  return nullptr;
}

/// Whether it came with the batch: labels, a count of them, what the model was given.
bool is_of_batch(const Operand& operand) {
  if (part_of_result(operand) != nullptr) return false;  // a teacher's targets
  const model::Event* placed = placement_of(operand.provenance);
  if (placed != nullptr && Context::in_function(*placed, "forward")) return false;  // the model made them
  if (Context::is_called(operand, {"label", "target", "num_items"})) return true;
  return (operand.kind == OperandKind::kInput || operand.role == "target") && !is_result(operand);
}

/// Where the program moved what `side` was computed from.
const model::Event* moved_before(const Operand& side) {
  const model::Event* placed = placement_of(side.provenance);
  return is_result(side) && placed != nullptr && placed->kind == model::EventKind::kMoved &&
                 placed->owner.is(model::owners::kProgram)
             ? placed
             : nullptr;
}

/// That two sides of a loss are on two GPUs: the batch and the model, the loss and the model, or two results.
Message sides_text(const Operand& side, const Operand& other) {
  std::vector<model::Argument> both = pair_of(side, other);
  if (is_of_batch(side)) {
    return {
        "{name} on {device} is on the side of the batch, {other} on {other_device} comes from the model's last "
        "stage.",
        std::move(both)};
  }
  if (const model::Event* moved = moved_before(side); moved != nullptr) {
    both.push_back({"at", at_text(*moved)});
    return {
        "{name} was computed on {device}, where its inputs were moved{at}; nothing has moved it to {other_device}, "
        "where {other} is.",
        std::move(both)};
  }
  if (!is_weight(side)) {
    return {"{name} is on {device}, {other} on {other_device}; nothing has moved one to the other.", std::move(both)};
  }
  const model::Event* placed = placement_of(side.provenance);
  both.push_back({"at", placed == nullptr ? Message() : at_text(*placed)});
  return {"{name} belongs to the loss, which is on {device}{at}; {other} on {other_device} comes from the model.",
          std::move(both)};
}

/// Whether `operand` is the sum so far of `total = total + term`, and may have begun as a number: that has no device.
bool has_begun_as_number(const Context& context, const Operand& operand) {
  const model::Event* placed = placement_of(operand.provenance);
  return context.op_is({"add"}) && is_running_total(context, operand) && placed != nullptr &&
         placed->kind != model::EventKind::kMade;
}

model::Fix move_each_term(const Operand& total) {
  const std::vector<model::Argument> name = {{"name", name_of(total)}};
  return {FixKind::kUseSite,
          {"move each term to one device, that of the loss, before it is added to {name}", name},
          std::nullopt,
          model::Confidence::kLikely};
}

/// A module's own loss, which it has left in an attribute, is added to a sum on another GPU.
std::optional<Hypothesis> loss_of_part(const Context& context) {
  for (const Operand& operand : context.operands()) {
    const Operand* partner = context.partner_of(operand);
    if (partner == nullptr || !context.across_gpus() || !is_loss_of_part(context, operand)) continue;
    Hypothesis found(code::kReductionBoundary);
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    found.origin = placement_of(operand.provenance);
    const std::vector<model::Argument> both = {{"name", name_of(operand)},
                                               {"device", operand.device.str()},
                                               {"holder", quoted(operand.holder)},
                                               {"other", name_of(*partner)},
                                               {"other_device", partner->device.str()}};
    found.add_evidence(75, "The operation adds up losses.");
    found.add_evidence(25,
                       {"{name} is what {holder} computed in this step, on {device}, where that part of the model is; "
                        "{other} is on {other_device}.",
                        both});
    found.title = {"{name} is a loss of the part on {device}, {other} is on {other_device}", both};
    found.propose(move_at_use(context, operand, *partner));
    return found;
  }
  return std::nullopt;
}

/// Losses that parts of the model on several GPUs gave are added up: none is on the side of the batch.
std::optional<Hypothesis> losses_of_parts(const Context& context) {
  const auto& operands = context.operands();
  const Operand* partner = operands.size() != 2 ? nullptr : context.partner_of(operands.front());
  if (partner == nullptr || !context.op_is({"add", "sub"}) || part_of_result(operands.front()) == nullptr ||
      part_of_result(*partner) == nullptr) {
    return std::nullopt;
  }
  const Operand& kept = operands.front();
  const Operand& moved = *partner;
  Hypothesis found(code::kReductionBoundary);
  found.operands = {context.index_of(moved), context.index_of(kept)};
  found.origin = placement_of(moved.provenance);
  const std::vector<model::Argument> both = pair_of(moved, kept);
  found.add_evidence(70, "The operation adds up losses.");
  found.add_evidence(
      35, {"{name} was computed on {device}, {other} on {other_device}: each by the part of the model that is "
           "there.",
           both});
  found.title = {"{name} is a loss on {device}, {other} is one on {other_device}", both};
  found.propose(has_begun_as_number(context, kept) ? move_each_term(kept) : move_at_use(context, moved, kept));
  return found;
}

bool is_clipping(const Context& context) {
  return context.runs_function({"clip_grad_norm_", "clip_grad_norm", "get_total_norm", "clip_gradients"});
}

}  // namespace

// The end of a step: what comes out of the last stage meets the labels, a count, a running total, or its like from
// another device. The small side is the one to move.
std::optional<Hypothesis> reduction_boundary(const Context& context) {
  const bool original = context.sentence_has("Calculated loss must be on the original device");
  // torch/nn/utils/convert_parameters.py: parameters_to_vector and its reverse.
  const bool flattened = context.sentence_has("Found two parameters on different devices");
  if (!context.is_mismatch() && !original && !flattened) return std::nullopt;
  // The program meant to bring one side to the other.
  if (std::ranges::any_of(context.operands(),
                          [&](const Operand& each) { return dropped_move_of(context, each) != nullptr; })) {
    return std::nullopt;
  }
  Hypothesis found(code::kReductionBoundary);
  if (flattened) {
    found.add_evidence(95, "One vector is made of the weights of modules that are on several GPUs.");
    found.title = "weights on several devices are joined in one vector";
    for (const Operand& operand : context.operands()) found.operands.push_back(context.index_of(operand));
    found.propose(FixKind::kUseSite, {"move each weight or gradient to one device first: {code}",
                                      {{"code", std::string("p.detach().to(device)")}}});
    return found;
  }
  if (original) {
    found.add_evidence(95, "The Trainer keeps its running loss on its own device and refuses a loss from another.");
    found.title = "the loss is not on the device of the running total";
    found.propose(FixKind::kUseSite, "return the loss on the trainer's device: loss.to(self.args.device), one number");
    return found;
  }
  if (is_loss_boundary(context)) {
    if (auto losses = losses_of_parts(context)) return losses;
    if (auto loss = loss_of_part(context)) return loss;
    const model::Event* back = nullptr;  // by a hook, so that the model does not end where its last stage is
    const Operand* labels = label_side(context);
    const bool total = labels != nullptr && is_running_total(context, *labels);
    if (labels == nullptr && !context.operands().empty()) {
      labels = &context.operands().front();
      if (const Operand* partner = context.partner_of(*labels)) labels = &smaller_of(*labels, *partner);
    }
    const Operand* partner = labels == nullptr ? nullptr : context.partner_of(*labels);
    found.add_evidence(70, total ? "The operation adds to a running total."
                           : labels != nullptr && is_of_batch(*labels)
                               ? "The operation is a loss, or a sum of losses: it joins the last stage with the batch."
                               : "The operation is a loss, or a sum of losses.");
    if (partner != nullptr) {
      found.operands = {context.index_of(*labels), context.index_of(*partner)};
      const std::vector<model::Argument> both = pair_of(*labels, *partner);
      if (!total) back = brought_back(*partner);
      if (back != nullptr) {
        found.add_evidence(
            30,
            {"accelerate's hook brought {other} back from {device} to {other_device}, where the model's inputs are.",
             {{"other", name_of(*partner)}, {"device", back->from.str()}, {"other_device", partner->device.str()}}});
      } else if (context.across_gpus() && !total) {
        found.add_evidence(20, sides_text(*labels, *partner));
      }
      // Two parts that were moved to their GPUs have one loss between them.
      const model::Event* before = moved_there_before(*labels, *partner);
      if (before != nullptr) {
        found.add_evidence(10, second_move_of(*labels, *before));
        found.propose(FixKind::kCreationSite, {"give each module that was moved a loss of its own: {name} is shared",
                                               {{"name", name_of(*labels)}}});
      }
      const model::Event* placed = placement_of(labels->provenance);
      const bool chosen = placed != nullptr && labels->device.is_accelerator() &&
                          source_of(*placed) == model::DeviceSource::kLiteral;  // a total that was put there
      const bool begun = has_begun_as_number(context, *labels);
      if (total) {
        found.add_evidence(20, {begun ? "{name} is a running total: it is on {device}, where its first term was."
                                      : "{name} is a running total that is kept across steps.",
                                {{"name", name_of(*labels)}, {"device", labels->device.str()}}});
      } else if (placed != nullptr && placed->kind == model::EventKind::kMade && !chosen &&
                 context.made_for_use(*placed)) {
        found.score -= 45;  // a target that the loss itself creates: a fresh tensor
      } else if (placed != nullptr && source_of(*placed) == model::DeviceSource::kCurrent &&
                 Context::in_function(*placed, "forward")) {
        found.score -= 45;  // the model's own target, on the current device
      } else if (labels->device.is_host() && labels->kind == OperandKind::kInput && !context.model_spans_gpus()) {
        found.score -= 25;  // a batch that nobody moved
      }
      found.origin = placed;
      found.title =
          back != nullptr
              ? Message{"{name} is on {device}, {other} was brought back to {other_device}, where the inputs are", both}
          : total ? Message{"the running total {name} is on {device}, {other} is on {other_device}", both}
          : !is_of_batch(*labels)
              ? Message{"a loss needs both on one device: {name} is on {device}, {other} on {other_device}", both}
              : Message{"{name} is on {device} with the batch, {other} is on {other_device} with the last stage", both};
      // What the statement does with the result is where the labels are: a layer's states, and no large logits.
      const bool comes = context.alone_in_statement() == partner && partner->bytes <= labels->bytes;
      found.propose(begun   ? move_each_term(*labels)
                    : comes ? move_at_use(context, *partner, *labels)
                            : move_at_use(context, *labels, *partner));
    } else {
      found.title = "the loss is combined with a tensor on another device";
    }
    // Class weights that an object keeps elsewhere: the model's stages are not at odds with the batch.
    if (labels != nullptr && labels->kind == OperandKind::kAttribute && context.outnumbered() == labels &&
        (labels->device.is_host() || !context.model_spans_gpus())) {
      found.score -= 50;
    }
    // A buffer that a statement of the loss has replaced is no last stage's, and a weight of the loss on the host neither.
    const auto of_loss = [](const Operand& operand) {
      return is_replaced_by_result(operand) || (operand.device.is_host() && operand.kind == OperandKind::kBuffer);
    };
    if (std::any_of(context.operands().begin(), context.operands().end(), of_loss)) found.score -= 50;
    if (partner != nullptr && labels->kind == OperandKind::kAttribute &&
        is_of_replica(placement_of(partner->provenance))) {
      found.score -= 40;  // replicas share what their module has not registered
    }
    if (context.model_spans_gpus() && back == nullptr && !total)
      found.add_evidence(15, "The model ends on another GPU than it begins.");
    return found;
  }
  if (combines_a_list(context) &&
      std::none_of(context.operands().begin(), context.operands().end(), is_generation_state)) {
    found.add_evidence(40, "The operation combines a list whose elements are on several devices.");
    if (combines_results(context))
      found.add_evidence(25, "Its elements are scalars or vectors, such as norms, counts and metrics.");
    if (is_clipping(context)) found.add_evidence(30, "It runs while gradients are clipped: one norm for each device.");
    if (context.is_wrapped_by(model::owners::kDataParallel))
      found.add_evidence(20, "They are results of DataParallel's replicas.");
    const auto constructed = [](const Operand& operand) {
      const model::Event* placed = placement_of(operand.provenance);
      return operand.device.is_host() && placed != nullptr && Context::at_construction(*placed);
    };
    // No result: what an object has held on the host since it was made.
    if (std::any_of(context.operands().begin(), context.operands().end(), constructed)) found.score -= 30;
    found.title = "results on several devices are combined without being moved to one device";
    for (const Operand& operand : context.operands()) found.operands.push_back(context.index_of(operand));
    found.propose(FixKind::kUseSite,
                  "move the small results to one device first, then combine them: one list per device");
    return found;
  }
  return std::nullopt;
}

}  // namespace devsan::diagnose
