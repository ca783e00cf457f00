#include "diagnose/dropped_move.h"

#include <string>
#include <utility>

#include "diagnose/codes.h"
#include "diagnose/edits.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"

namespace devsan::diagnose {

using model::Confidence;
using model::Event;
using model::FixKind;
using model::Message;
using model::Operand;

void tell_of_dropped(const Operand& operand, const Event& dropped, Hypothesis& found) {
  const Message at = at_text(dropped);
  if (!dropped.op.starts_with("Tensor.")) {
    found.add_evidence(70, {"That object was moved{at}, but the result was discarded: its `to` returns another object.",
                            {{"at", at}}});
    found.propose(FixKind::kCreationSite, "move the object before others are given it, and keep what the move returns");
    return;
  }
  const bool itself = dropped.followed.empty() || dropped.followed == operand.name;
  if (itself && operand.device.is_host()) {
    found.add_evidence(60, {"It was moved{at}, but the result was discarded: Tensor.to returns a copy.", {{"at", at}}});
  } else {
    found.add_evidence(operand.device.is_host() ? 60 : 95,
                       {"{moved} was moved{at}, but the result was discarded: Tensor.to returns a copy, so {name} is "
                        "still on {device}.",
                        {{"moved", itself ? name_of(operand) : Message(quoted(dropped.followed))},
                         {"at", at},
                         {"name", name_of(operand)},
                         {"device", place_text(operand.device)}}});
  }
  std::optional<model::Edit> edit = amended_edit(dropped);
  const std::string& moved = itself ? operand.best_name() : dropped.followed;
  if (edit || itself) {
    const std::string kept = moved + " = ...";
    const bool assigns = dropped.amended.empty() || dropped.amended.starts_with(moved + " = ");
    found.propose(FixKind::kCreationSite,
                  {"keep the result of the move: {code}", {{"code", assigns ? kept : dropped.amended}}},
                  Confidence::kCertain, std::move(edit));
  } else {
    found.propose(FixKind::kCreationSite,
                  {"put the result of the move where {moved} came from{at}", {{"moved", quoted(moved)}, {"at", at}}},
                  Confidence::kCertain);
  }
}

std::optional<Hypothesis> dropped_between_gpus(const Context& context) {
  if (!context.across_gpus()) return std::nullopt;
  for (const Operand& operand : context.operands()) {
    const Event* dropped = dropped_move_of(context, operand);
    const Operand* partner = context.partner_of(operand);
    if (dropped == nullptr || partner == nullptr || is_weight(operand) || !operand.device.is_accelerator() ||
        !partner->device.is_accelerator()) {
      continue;
    }
    Hypothesis found(code::kHostBoundary);
    found.origin = placement_of(operand.provenance);
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    tell_of_dropped(operand, *dropped, found);
    found.title = {
        "{name} is still on {device}, because the result of a move was discarded; {other} is on "
        "{other_device}",
        pair_of(operand, *partner)};
    return found;
  }
  return std::nullopt;
}

}  // namespace devsan::diagnose
