#include "diagnose/before_move.h"
#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"
#include "diagnose/source_text.h"

#include <algorithm>

namespace devsan::diagnose {

using model::FixKind;
using model::Message;
using model::Operand;
using model::OperandKind;
using model::Optimizer;

namespace {

/// The last move of the model after which the optimizer's state is behind; null where there was none.
const model::Event* later_move(const Context& context, const Optimizer& optimizer) {
  if (context.model() == nullptr || optimizer.built.sequence == 0) return nullptr;
  for (const model::Event& event : context.model()->placements) {
    if (event.sequence > optimizer.built.sequence) return &event;
  }
  return nullptr;
}

/// Whether the program itself said where the state goes, wherever its parameter is: a device that is written out, or that
/// a variable holds.
bool is_sent(const model::Event& placed) {
  const model::DeviceSource source = source_of(placed);
  return placed.owner.is(model::owners::kProgram) && placed.kind == model::EventKind::kMoved &&
         (source == model::DeviceSource::kLiteral || source == model::DeviceSource::kScalar ||
          source == model::DeviceSource::kCurrent);
}

/// A gradient is handed to a tensor of another device: a copy of the weights, taken before they moved.
std::optional<Hypothesis> copies_of_weights(const Context& context) {
  if (!context.sentence_has("attempting to assign a gradient") || context.operands().size() != 2) return std::nullopt;
  const Operand& copy = context.operands().front();
  const Operand& gradient = context.operands().back();
  if (copy.device.is_accelerator() && gradient.device.is_accelerator()) return std::nullopt;  // two of the model's own
  Hypothesis found(code::kOptimizerState);
  found.operands = {0, 1};
  found.origin = placement_of(copy.provenance);
  if (copy.device.is_accelerator() && !gradient.device.is_accelerator()) {
    found.add_evidence(30, {"{name} was kept on the CPU.", {{"name", name_of(gradient)}}});
  } else if (found.origin != nullptr && is_brought_to_host(*found.origin)) {
    // The program keeps its copy there on purpose.
    found.add_evidence(
        75, {"{name} was copied to the CPU{at}; the gradient that it gets by hand is on {other_device}.",
             {{"name", name_of(copy)}, {"at", at_text(*found.origin)}, {"other_device", gradient.device.str()}}});
    found.title = {"{name} is on {device}, and the gradient that is assigned to it on {other_device}",
                   {{"name", name_of(copy)}, {"device", copy.device.str()}, {"other_device", gradient.device.str()}}};
    found.propose(move_at_use(context, gradient, copy));
    return found;
  } else {
    found.add_evidence(
        75, {"{name} gets its gradient by hand, from a parameter on {other_device}: it is a copy of the weights, "
             "taken while they were on {device}.",
             {{"name", name_of(copy)}, {"other_device", gradient.device.str()}, {"device", copy.device.str()}}});
  }
  if (found.origin != nullptr) found.add_evidence(5, {"It was made{at}.", {{"at", at_text(*found.origin)}}});
  found.title = {"{name} on {device} is state of a parameter on another device",
                 {{"name", name_of(copy)}, {"device", copy.device.str()}}};
  found.propose(FixKind::kCreationSite, "move the model, then build the optimizer or the average, then load its state");
  return found;
}

}  // namespace

// The state was built or loaded while the parameter was elsewhere.
std::optional<Hypothesis> optimizer_state(const Context& context) {
  // Fused and foreach steps refuse their lists in words of their own, which name no operand.
  if (auto found = copies_of_weights(context)) return found;
  const bool refused = context.sentence_has("Tensors of the same index must be on the same device");
  if (!context.is_mismatch() && !refused) return std::nullopt;
  const auto& operands = context.operands();
  const auto kept = std::find_if(operands.begin(), operands.end(),
                                 [](const Operand& operand) { return operand.kind == OperandKind::kOptimizerState; });
  const auto& all = context.facts().optimizers;
  const auto apart = std::find_if(all.begin(), all.end(), [](const Optimizer& each) { return !each.states.empty(); });
  const bool stepping = context.failure().phase == model::Phase::kOptimizer;
  if (kept == operands.end() && (apart == all.end() || !stepping)) return std::nullopt;

  Hypothesis found(code::kOptimizerState);
  bool is_misplaced = false;  // by the line that made or sent it, whenever the model moves
  if (kept != operands.end()) {
    found.operands = {context.index_of(*kept)};
    const Operand* const partner = context.partner_of(*kept);
    if (partner != nullptr) found.operands.push_back(context.index_of(*partner));
    found.origin = placement_of(kept->provenance);
    found.add_evidence(70, {"{name} is state that is kept for a parameter.", {{"name", name_of(*kept)}}});
    const bool without = found.origin != nullptr && found.origin->kind == model::EventKind::kMade &&
                         source_of(*found.origin) == model::DeviceSource::kDefault && !found.origin->op.empty();
    if (without) found.add_evidence(10, {"It was made without a device{at}.", {{"at", at_text(*found.origin)}}});
    // torch.optim.Optimizer.load_state_dict casts what it loads to the device of the parameter.
    if (found.origin != nullptr && found.origin->kind == model::EventKind::kLoaded && apart != all.end()) {
      const std::vector<model::Argument> facts = {{"at", at_text(*found.origin)}, {"device", place_text(kept->device)}};
      const bool by_hand = apart->written.is_known();
      found.add_evidence(15, by_hand ? Message{"It is from a checkpoint that is read to {device}{at}, and was put into "
                                               "the optimizer as it is: load_state_dict would have moved it.",
                                               facts}
                                     : Message{"It is from a checkpoint that is read{at}: load_state_dict puts state "
                                               "where the parameters are at that time, which was on {device}.",
                                               facts});
      is_misplaced = by_hand;
    }
    const model::Event* moved = partner == nullptr ? nullptr : moved_after_copy(*kept, *partner);
    if (moved == nullptr && partner != nullptr) moved = moved_after_snapshot(*kept, *partner);
    if (moved != nullptr) {
      found.add_evidence(15, {"It was copied{at}, before {other} was moved to {device}{to}.",
                              {{"at", at_text(kept->provenance.front())},
                               {"other", name_of(*partner)},
                               {"device", moved->device.str()},
                               {"to", at_text(*moved)}}});
    } else if (const auto* later = partner == nullptr ? nullptr : moved_without_it(context, *kept, *partner)) {
      found.add_evidence(30,
                         {"It was taken while {other} was on {device}, before that was moved to {other_device}{to}.",
                          {{"other", name_of(*partner)},
                           {"device", kept->device.str()},
                           {"other_device", later->device.str()},
                           {"to", at_text(*later)}}});
    } else if (partner != nullptr && found.origin != nullptr && is_sent(*found.origin)) {
      found.add_evidence(20, {"It was moved to {device}{at}; {other} is on {other_device}.",
                              {{"device", kept->device.str()},
                               {"at", at_text(*found.origin)},
                               {"other", name_of(*partner)},
                               {"other_device", partner->device.str()}}});
      found.propose(FixKind::kCreationSite, {"put it on the device of its parameter, not on {device}{at}",
                                             {{"device", kept->device.str()}, {"at", at_text(*found.origin)}}});
      is_misplaced = true;
    } else if (without && partner != nullptr &&
               std::ranges::none_of(all, [&](const Optimizer& each) { return later_move(context, each) != nullptr; })) {
      found.propose(create_with(context, *kept, *found.origin, *partner));
      is_misplaced = true;
    }
    found.title = {"{name} on {device} is state of a parameter on another device",
                   {{"name", name_of(*kept)}, {"device", kept->device.str()}}};
  }
  if (apart != all.end()) {
    const model::OptimizerState& state = apart->states.front();
    found.add_evidence(kept == operands.end() ? 70 : 15,
                       {"{optimizer} keeps {key} of {name} on {device}, the parameter is on {other_device}.",
                        {{"optimizer", apart->type},
                         {"key", quoted(state.key)},
                         {"name", quoted(state.parameter)},
                         {"device", state.device.str()},
                         {"other_device", state.parameter_device.str()}}});
    if (found.title.empty())
      found.title = {
          "{optimizer} keeps state on {device} for a parameter on {other_device}",
          {{"optimizer", apart->type}, {"device", state.device.str()}, {"other_device", state.parameter_device.str()}}};
  }
  // An average's module is called as any other: its own weight is no state that meets a parameter.
  const bool in_forward = context.failing_module() != nullptr && context.failure().phase == model::Phase::kForward;
  if (kept != operands.end() && !kept->qualified_name.empty() && in_forward) found.score -= 50;
  if (stepping) found.add_evidence(15, "It fails in the optimizer's step.");
  for (const Optimizer& optimizer : all) {
    if (const model::Event* move = later_move(context, optimizer)) {
      found.add_evidence(15,
                         {"{optimizer} was built{at}, before the model was moved{to}.",
                          {{"optimizer", optimizer.type}, {"at", at_text(optimizer.built)}, {"to", at_text(*move)}}});
      if (found.origin == nullptr) found.origin = &optimizer.built;
    }
    if (optimizer.loaded.sequence > 0) {
      found.add_evidence(10, {"Its state was loaded{at}.", {{"at", at_text(optimizer.loaded)}}});
      if (found.origin == nullptr) found.origin = &optimizer.loaded;
    }
  }
  if (context.on_stack("deepspeed") || context.setting("offload_optimizer") != nullptr) found.score -= 40;
  if (apart != all.end() && apart->written.is_known()) {
    const std::vector<model::Argument> place = {{"place", text_of(&apart->written)}};
    found.add_evidence(10, {"The program itself writes state at {place}.", place});
    found.propose(FixKind::kCreationSite, {"move the state to the device of its parameter at {place}", place});
  }
  if (!is_misplaced) {
    found.propose(FixKind::kCreationSite,
                  "move the model, then build the optimizer or the average, then load its state");
  }
  const auto was_loaded = [](const Optimizer& each) { return each.loaded.sequence > 0; };
  const bool read = found.origin != nullptr && found.origin->kind == model::EventKind::kLoaded;
  if (!read && std::ranges::none_of(all, was_loaded) && kept != operands.end()) return found;
  found.propose(
      FixKind::kUseSite,
      "move the state to its parameter's device once, after loading: in load_state_dict, also inside helper objects",
      model::Confidence::kPossible);
  return found;
}

}  // namespace devsan::diagnose
