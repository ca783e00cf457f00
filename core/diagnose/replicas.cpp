#include "diagnose/replicas.h"

#include "diagnose/codes.h"
#include "diagnose/edits.h"
#include "diagnose/predicates.h"
#include "diagnose/said_device.h"

namespace devsan::diagnose {

using model::Event;
using model::FixKind;
using model::Operand;
using model::OperandKind;

namespace {

bool is_by_parallel(const Operand& operand) { return is_of_replica(placement_of(operand.provenance)); }

/// Whether a statement outside of a forward keeps it in an attribute of its object: `self.prior = prior.to(device)`.
bool is_assigned_to_self(const Event& placed) {
  const model::Frame* site = placed.site();
  return site != nullptr && site->source.starts_with("self.") && !site->function.ends_with("forward") &&
         site->source.find(" = ") != std::string::npos;
}

}  // namespace

std::optional<Hypothesis> reached_original(const Context& context, const Operand& operand, const Operand& partner) {
  if (!is_weight(operand) || !operand.registered || !context.is_wrapped_by(model::owners::kDataParallel) ||
      !context.across_gpus() || is_by_parallel(operand) || !is_by_parallel(partner)) {
    return std::nullopt;
  }
  Hypothesis found(code::kUnregisteredState);
  found.origin = placement_of(operand.provenance);
  found.operands = {context.index_of(operand), context.index_of(partner)};
  const std::vector<model::Argument> both = pair_of(operand, partner);
  found.add_evidence(
      90, {"{name} is a weight of the module that DataParallel copied, and a replica uses it on "
           "{other_device}: an attribute that the replicas share, such as a bound method, leads to that module.",
           both});
  found.title = {"{name} is of the original module on {device}, the replica's {other} is on {other_device}", both};
  found.propose(FixKind::kCreationSite,
                "keep names, not bound methods or modules, in plain attributes, and look them up when they are called: "
                "getattr(self, name)");
  return found;
}

std::optional<Hypothesis> shared_by_replicas(const Context& context, const Operand& operand, const Operand& partner) {
  const Event* placed = placement_of(operand.provenance);
  if (placed == nullptr || !context.is_wrapped_by(model::owners::kDataParallel) || !context.across_gpus() ||
      is_by_parallel(operand) || !is_by_parallel(partner) || operand.kind == OperandKind::kParameter ||
      operand.kind == OperandKind::kBuffer) {
    return std::nullopt;
  }
  const bool of_module = Context::in_function(*placed, "_apply");  // moved with its module, which no replica copied
  if (!of_module && !is_assigned_to_self(*placed)) return std::nullopt;
  Hypothesis found(code::kUnregisteredState);
  found.origin = placed;
  found.operands = {context.index_of(operand), context.index_of(partner)};
  const std::vector<model::Argument> both = {{"name", name_of(operand)},
                                             {"device", operand.device.str()},
                                             {"at", at_text(*placed)},
                                             {"other", name_of(partner)},
                                             {"other_device", partner.device.str()}};
  found.add_evidence(85,
                     {"{name} was put on {device}{at}, and the replica on {other_device} uses it: DataParallel copies "
                      "parameters and buffers, and splits the batch; all else the replicas share.",
                      both});
  found.title = {"{name} is shared by DataParallel's replicas and is on {device}, {other} is on {other_device}", both};
  if (of_module) {
    found.propose(FixKind::kCreationSite, "keep the modules in nn.ModuleList or nn.ModuleDict");
  } else {
    found.propose(register_where_made(context, operand, placed));
  }
  return found;
}

}  // namespace devsan::diagnose
