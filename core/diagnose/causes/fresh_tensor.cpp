#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"
#include "diagnose/results.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::DeviceSource;
using model::Event;
using model::EventKind;
using model::Message;
using model::Operand;
using model::OperandKind;

namespace {

int weight_of(DeviceSource source) {
  switch (source) {
    case DeviceSource::kDefault:
      return 70;
    case DeviceSource::kCurrent:
      return 50;
    case DeviceSource::kLiteral:
      return 40;
    default:
      return 0;
  }
}

/// Whether a variable of the program says where it is.
bool placed_by_name(const Operand& operand) {
  const Event* placed = placement_of(operand.provenance);
  return placed != nullptr && source_of(*placed) == DeviceSource::kScalar && !device_text_of(*placed).empty();
}

Message how_created(const Operand& operand, const Event& made) {
  std::vector<model::Argument> arguments = {
      {"name", name_of(operand)}, {"device", place_text(operand.device)}, {"at", at_text(made)}};
  if (source_of(made) == DeviceSource::kDefault) {
    return {"{name} is created without a device, so it is on {device}{at}.", std::move(arguments)};
  }
  arguments.push_back({"value", quoted(device_text_of(made))});
  if (source_of(made) == DeviceSource::kCurrent) {
    return {"{name} is created on the current device, {value}, so it is on {device}{at}.", std::move(arguments)};
  }
  return {"{name} is created on a fixed device, {value}, so it is on {device}{at}.", std::move(arguments)};
}

}  // namespace

// A factory without a device, or with one that is written down, makes a tensor next to the operation that needs it. One
// edit at the factory fixes it.
std::optional<Hypothesis> fresh_tensor(const Context& context) {
  if (!context.is_mismatch()) return std::nullopt;
  std::optional<Hypothesis> best;
  for (const Operand& operand : context.operands()) {
    const Event* made = placement_of(operand.provenance);
    if (made == nullptr || made->kind != EventKind::kMade || operand.device.is_meta()) continue;
    const bool built = is_built_for_use(context, operand);
    if (operand.kind == OperandKind::kParameter || (operand.kind == OperandKind::kBuffer && !built) ||
        !operand.registered) {
      continue;
    }
    if (operand.kind == OperandKind::kGenerator || operand.kind == OperandKind::kNumber) continue;
    if (operand.kind == OperandKind::kOptimizerState || operand.kind == OperandKind::kCache) continue;
    if (context.is_placed_by_map(operand) || made->owner.is(model::owners::kDataLoader)) continue;
    if (!operand.output_of.empty()) continue;  // a module made it of something else
    if (wraps_host_memory(*made)) continue;    // no device could be named there
    const Operand* partner = context.partner_of(operand);
    const int weight = weight_of(source_of(*made));
    if (partner == nullptr || weight == 0) continue;

    Hypothesis found(code::kFreshTensor);
    found.origin = made;
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    found.add_evidence(weight, how_created(operand, *made));
    if (Message said = device_value_of(*made); !said.empty()) found.add_evidence(0, std::move(said));
    // What is kept may have been made by the same function in an earlier call.
    const bool kept = operand.kind == OperandKind::kAttribute || operand.kind == OperandKind::kGlobal;
    // The gradient that a backward returned was made by it, though its frame is gone.
    const bool returned =
        context.failure().kind == model::SentenceKind::kGradient && Context::in_function(*made, "backward");
    const bool is_data = came_with_data(operand, made);
    const bool here = returned || built || (kept ? context.in_failing_call(*made) : context.made_for_use(*made));
    if (here) {
      found.add_evidence(20, built ? "The module that holds it is built in the call that failed, for this use."
                             : made->site() != nullptr && made->site()->function == "<module>"
                                 ? "It is created by the main program, which also uses it."
                                 : "It is created in the call that failed, next to its use.");
    } else {
      found.score -= is_data || operand.kind == OperandKind::kAttribute ? 60 : 35;
    }
    if (operand.kind == OperandKind::kAttribute && !operand.holder.empty() && Context::at_construction(*made)) {
      found.score -= 40;
    }
    if (is_data) found.score -= 20;
    if (!made->owner.is(model::owners::kProgram) && made->owner.is_known()) {
      found.add_evidence(10,
                         {"It is created by code outside of this program: {owner}.", {{"owner", made->owner.name}}});
    } else if (here && placed_by_name(*partner) && source_of(*made) == DeviceSource::kLiteral) {
      found.add_evidence(15, {"{name} on {device} follows a value that can be changed, {value}.",
                              {{"name", name_of(*partner)},
                               {"device", partner->device.str()},
                               {"value", quoted(device_text_of(*placement_of(partner->provenance)))}}});
    } else if (context.model_spans_gpus() && source_of(*made) != DeviceSource::kDefault) {
      found.score -= 30;  // one device value for a model that spans several
    }
    if (follows_default_device(context, operand)) found.score -= 40;
    // A device that is written down is rarely the mistake where the other side is on the host; but samples are made there.
    const bool loading = context.runs_function({"fetch"}) && context.on_stack("torch");
    if (operand.device.is_accelerator() && partner->device.is_host()) found.score += loading ? 10 : -25;
    if (operand.device.is_host() && loading) found.score -= 25;
    if (is_running_total(context, operand)) found.score -= 40;
    if (is_moved_by_call(context, *partner)) found.score -= 50;  // that one is to come back
    if (dropped_move_of(context, operand) != nullptr || dropped_move_of(context, *partner) != nullptr)
      found.score -= 50;  // meant to move
    if (is_sidecar(operand) || is_generation_state(operand)) found.score -= 40;
    found.title = {"{name} is created on {device} and used with {other} on {other_device}",
                   {{"name", name_of(operand)},
                    {"device", place_text(operand.device)},
                    {"other", name_of(*partner)},
                    {"other_device", partner->device.str()}}};
    found.propose(create_with(context, operand, *made, *partner));
    const bool in_place = operand.role == "self" && short_op(context.failure().op).ends_with('_');
    if (!in_place && !together_with(context, operand, *partner).empty()) {
      found.propose(move_at_use(context, operand, *partner));
    }
    // Of two that weigh the same the one that torch names: the others are together.
    const bool named = best && found.score == best->score && operand.offending &&
                       !context.operands()[best->operands.front()].offending;
    if (!best || found.score > best->score || named) best = std::move(found);
  }
  return best;
}

}  // namespace devsan::diagnose
