#include "diagnose/passed_by.h"

#include "diagnose/codes.h"
#include "diagnose/edits.h"

namespace devsan::diagnose {

using model::Event;
using model::FixKind;
using model::Operand;
using model::OperandKind;

std::optional<Hypothesis> passed_by(const Context& context, const Operand& operand, const Operand& partner) {
  if (operand.moved_part.empty() || !context.across_gpus()) return std::nullopt;
  const Event* placed = placement_of(operand.provenance);
  const Event* other = placement_of(partner.provenance);
  const auto came = [](const Event* event) { return event != nullptr && event->kind == model::EventKind::kMoved; };
  if (!partner.moved_part.empty() && came(placed) && !came(other)) return std::nullopt;  // it is what was moved
  Hypothesis found(code::kUnregisteredState);
  found.origin = placed;
  found.operands = {context.index_of(operand), context.index_of(partner)};
  const std::vector<model::Argument> both = {{"name", name_of(operand)},        {"device", operand.device.str()},
                                             {"part", quoted(operand.left_in)}, {"moved", quoted(operand.moved_part)},
                                             {"other", name_of(partner)},       {"other_device", partner.device.str()}};
  const bool itself = operand.name == operand.left_in;
  found.add_evidence(90,
                     {itself ? "{name} is on {device}; {moved} beside it was moved to {other_device}: what moved the "
                               "one has not moved the other."
                             : "{name} is {part}, on {device}; {moved} beside it was moved to {other_device}: what "
                               "moved the one has not moved the other.",
                      both});
  found.title = {itself ? "{name} stayed on {device}; {other} is on {other_device}"
                        : "{name} is {part}, which stayed on {device}; {other} is on {other_device}",
                 both};
  const bool contained = operand.left_in.ends_with(']');
  found.propose(FixKind::kCreationSite, {contained ? "move {part} where {moved} is moved: what moves it passes this by"
                                                   : "move {part} where {moved} is moved: in the object's own `to`",
                                         both});
  found.propose(move_at_use(context, operand, partner));
  return found;
}

std::optional<Hypothesis> recomputed(const Context& context, const Operand& operand, const Operand& partner) {
  const Event* placed = placement_of(operand.provenance);
  if (placed == nullptr || !placed->owner.mechanism.starts_with("torch.nn.utils.")) {
    return std::nullopt;
  }
  Hypothesis found(code::kUnregisteredState);
  found.origin = placed;
  found.operands = {context.index_of(operand), context.index_of(partner)};
  const std::vector<model::Argument> facts = {
      {"name", name_of(operand)},       {"weight", quoted(placed->followed)}, {"utility", placed->owner.mechanism},
      {"device", operand.device.str()}, {"other", name_of(partner)},          {"other_device", partner.device.str()}};
  found.add_evidence(
      95, {"{weight} is a plain attribute, which {utility} computes before each forward: the move of its module "
           "moved what it is computed from, and no forward has computed it since.",
           facts});
  found.title = {"{name} is still on {device}: {weight} was not computed since its module was moved", facts};
  found.propose(FixKind::kCreationSite, {"read {weight} after a forward of its module has computed it", facts});
  if (placed->owner.mechanism.ends_with("prune")) {
    found.propose(FixKind::kCreationSite, {"make the pruning permanent before the move: {code}",
                                           {{"code", std::string("torch.nn.utils.prune.remove(module, name)")}}});
  } else {
    found.propose(FixKind::kConfiguration, {"use the functions of {code}, which compute it whenever it is read",
                                            {{"code", std::string("torch.nn.utils.parametrizations")}}});
  }
  return found;
}

}  // namespace devsan::diagnose
